import { InputError } from '../files/input-error.ts';
import { type Declaration, declarationOf } from '../talos/declaration.ts';
import type { MachineConfiguration } from '../talos/machine-configuration.ts';
import { readMachineConfigurations } from '../talos/read-machine-configurations.ts';

/**
 * What the files declare, in their order.
 * @throws InputError with everything that is wrong in any of them
 */
export async function readDeclarations(files: readonly string[]): Promise<Declaration[]> {
  const faults: string[] = [];
  const declarations = (await readMachineConfigurations(files)).flatMap((configuration): Declaration[] => {
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

function unreadable({ malformed }: MachineConfiguration): string[] {
  return malformed.map(({ document, path, message }) => `${document.locate(path)}: ${message}`);
}
