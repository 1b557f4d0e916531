import { InputError } from '../files/input-error.ts';
import { readBoundedText } from '../files/text-files.ts';
import { ForeignFileError } from './accepted-documents.ts';
import { parseTalosDocuments } from './document-values.ts';
import { unwrapped } from './live-configuration.ts';
import { type MachineConfiguration, readMachineConfiguration } from './machine-configuration.ts';

/**
 * The maximum size of a file in bytes. Inline manifests make the largest configurations, some hundred kilobytes. Parsing YAML of this size takes
 * about a second.
 */
const MAX_CONFIGURATION_BYTES = 2 * 1024 * 1024;

/**
 * Reads machine configurations and patches, one from each file; `-` is standard input.
 * @throws InputError with one line for each unusable file. It quotes nothing of a file, because most of it is secret
 */
export async function readMachineConfigurations(files: readonly string[]): Promise<MachineConfiguration[]> {
  const faults: string[] = [];
  const configurations: MachineConfiguration[] = [];
  for (const file of files) {
    try {
      configurations.push((await readMachineConfigurationText(file)).configuration);
    } catch (error) {
      if (!(error instanceof InputError)) throw error;
      // The first error is the cause of the others.
      faults.push(...error.faults.slice(0, 1));
    }
  }
  if (faults.length > 0) throw new InputError(faults);
  return configurations;
}

/**
 * Reads one file, or standard input (`-`): a machine configuration, or what `talosctl get machineconfig -o yaml` prints.
 * @throws InputError for an unusable file; its subclass ForeignFileError for a file that is not Talos'
 */
export async function readMachineConfigurationText(
  file: string,
): Promise<{ readonly configuration: MachineConfiguration; readonly text: string }> {
  const source = file === '-' ? 'standard input' : file;
  const text = await readBoundedText(file, MAX_CONFIGURATION_BYTES);
  const documents = unwrapped(parseTalosDocuments(text, source), text, source);
  if (documents.length === 0)
    throw new ForeignFileError([`${source}: there is nothing in it: expected a machine configuration`]);
  return { configuration: readMachineConfiguration(documents, source, text), text };
}
