import { Command } from 'commander';
import { talosDoctorCommand } from './doctor.ts';
import { driftCommand } from './drift.ts';
import { lintCommand } from './lint.ts';
import { policiesCommand } from './policies.ts';

/** `taintkeeper talos`: lints Talos machine configurations, makes policies from them, and compares them with nodes. */
export function talosCommand(exit: (code: number) => void): Command {
  return new Command('talos')
    .description(
      'Lint Talos machine configurations, print policies for their taints, compare them with nodes, and find out why talosctl cannot connect.',
    )
    .addCommand(lintCommand(exit))
    .addCommand(policiesCommand())
    .addCommand(driftCommand(exit))
    .addCommand(talosDoctorCommand(exit));
}
