import { Command } from 'commander';
import { rotateCommand } from './rotate.ts';
import { statusCommand } from './status.ts';

/** `taintkeeper certs`: shows and replaces the certificates of taintkeeper in a cluster. */
export function certsCommand(exit: (code: number) => void): Command {
  return new Command('certs')
    .description('Show and rotate the certificates of taintkeeper in a cluster.')
    .addCommand(statusCommand(exit))
    .addCommand(rotateCommand());
}
