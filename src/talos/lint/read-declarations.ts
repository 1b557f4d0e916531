import { locateField } from '../../files/documents.ts';
import { InputError } from '../../files/input-error.ts';
import type { MachineConfiguration } from '../machine-configuration.ts';
import { declarationOf, type NodeDeclaration } from '../node-declaration.ts';
import { readMachineConfigurations } from '../read-machine-configurations.ts';
import { kubeletWrongTypes } from './kubelet-configuration.ts';
import { wrongTypes } from './wrong-type.ts';

/**
 * The declarations of the files, in their order.
 * @throws InputError with all problems of all files
 */
export async function readDeclarations(files: readonly string[]): Promise<NodeDeclaration[]> {
  const faults: string[] = [];
  const declarations = (await readMachineConfigurations(files)).flatMap((configuration): NodeDeclaration[] => {
    try {
      faults.push(...unreadable(configuration));
      return [declarationOf(configuration)];
    } catch (error) {
      if (!(error instanceof InputError)) throw error;
      faults.push(...error.faults);
      return [];
    }
  });
  if (faults.length > 0) throw new InputError(faults);
  return declarations;
}

/** What hides declarations: a value of the wrong type anywhere above them, or in their place. */
function unreadable(configuration: MachineConfiguration): string[] {
  const subject = { configuration, version: undefined, patch: undefined };
  const ofKubelet = kubeletWrongTypes(subject).filter(({ path }) => path.includes('registerWithTaints'));
  return [
    ...configuration.malformed.map(({ document, path, message }) => `${document.locate(path)}: ${message}`),
    ...[...wrongTypes(subject), ...ofKubelet].map(
      ({ document, path, reason, fix }) => `${locateField(document, path)}: ${reason}: ${fix}`,
    ),
  ];
}
