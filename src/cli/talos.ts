import { Command } from 'commander';
import { driftCommand } from './talos-drift.ts';
import { lintCommand } from './talos-lint.ts';
import { policiesCommand } from './talos-policies.ts';

/** `taintkeeper talos`: what Talos machine configurations declare, judged, carried over, and compared with live nodes. */
export function talosCommand(exit: (code: number) => void): Command {
  return new Command('talos')
    .description('Judge Talos machine configurations, and carry over what they say of taints and labels.')
    .addCommand(lintCommand(exit))
    .addCommand(policiesCommand())
    .addCommand(driftCommand(exit));
}
