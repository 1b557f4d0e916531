import { parseTalosDocuments } from '../../../src/talos/document-values.ts';
import { type MachineConfiguration, readMachineConfiguration } from '../../../src/talos/machine-configuration.ts';
import { declarationOf, type NodeDeclaration } from '../../../src/talos/node-declaration.ts';

export function read(source: string, text: string): MachineConfiguration {
  return readMachineConfiguration(parseTalosDocuments(text, source), source);
}

export function declare(source: string, text: string): NodeDeclaration {
  return declarationOf(read(source, text));
}

/** A machine of a type, with the fields of `machine`. */
export function machine(type: string, fields: object = {}): string {
  return JSON.stringify({ machine: { type, ...fields } });
}
