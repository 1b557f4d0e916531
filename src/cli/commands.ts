import type { Command } from 'commander';
import { certsCommand } from './certs/certs.ts';
import { cleanupCommand } from './cleanup/cleanup.ts';
import { coverageCommand } from './coverage/coverage.ts';
import { dashboardCommand } from './dashboard.ts';
import { doctorCommand } from './doctor/doctor.ts';
import { explainCommand } from './explain/explain.ts';
import { exportCommand } from './export/export.ts';
import { reviewCommand } from './review/review.ts';
import { serveCommand } from './serve/serve.ts';
import { talosCommand } from './talos/talos.ts';

/** All commands. @param exit gets the exit code of a command that ended without an error */
export function allCommands(exit: (code: number) => void): Command[] {
  return [
    serveCommand(),
    reviewCommand(exit),
    exportCommand(),
    coverageCommand(exit),
    doctorCommand(exit),
    explainCommand(exit),
    dashboardCommand(),
    cleanupCommand(exit),
    talosCommand(exit),
    certsCommand(exit),
  ];
}
