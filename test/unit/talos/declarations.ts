import { type Declaration, declarationOf } from '../../../src/talos/declaration.ts';
import { type MachineConfiguration, readMachineConfiguration } from '../../../src/talos/machine-configuration.ts';
import { parseTalosDocuments } from '../../../src/talos/tree.ts';

export function read(source: string, text: string): MachineConfiguration {
  return readMachineConfiguration(parseTalosDocuments(text, source), source);
}

export function declare(source: string, text: string): Declaration {
  return declarationOf(read(source, text));
}

/** A machine of a type, with the fields of `machine`. */
export function machine(type: string, fields: object = {}): string {
  return JSON.stringify({ machine: { type, ...fields } });
}
