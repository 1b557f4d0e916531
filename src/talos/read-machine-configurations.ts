import { parseDocuments } from '../files/documents.ts';
import { InputError } from '../files/input-error.ts';
import { readBoundedText } from '../files/read-text.ts';
import { type MachineConfiguration, readMachineConfiguration } from './machine-configuration.ts';

/**
 * Bytes of a file. Inline manifests make the largest configurations, some hundred kilobytes; YAML of this size takes about a
 * second to parse.
 */
export const MAX_CONFIGURATION_BYTES = 2 * 1024 * 1024;

/**
 * Reads machine configurations and patches, one of each file; `-` is standard input.
 * @throws InputError with one line for each file that cannot be used; nothing that stands in a file is quoted, for most of it
 * is secret
 */
export async function readMachineConfigurations(files: readonly string[]): Promise<MachineConfiguration[]> {
  const faults: string[] = [];
  const found: MachineConfiguration[] = [];
  for (const file of files) {
    try {
      found.push(await readOne(file));
    } catch (error) {
      if (!(error instanceof InputError)) throw error;
      // The first is the cause, and the others follow from it.
      faults.push(...error.faults.slice(0, 1));
    }
  }
  if (faults.length > 0) throw new InputError(faults);
  return found;
}

async function readOne(file: string): Promise<MachineConfiguration> {
  const source = file === '-' ? 'standard input' : file;
  const text = await readBoundedText(file, MAX_CONFIGURATION_BYTES);
  const documents = parseDocuments(text, source, { secret: true });
  if (documents.length === 0)
    throw new InputError([`${source}: there is nothing in it: expected a machine configuration`]);
  return readMachineConfiguration(documents, source);
}
