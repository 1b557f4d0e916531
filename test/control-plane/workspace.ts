import { existsSync, mkdirSync, mkdtempSync, readdirSync, renameSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { onExit } from './on-exit.ts';

/** A temporary folder for one harness, readable by us alone. */
export interface Workspace {
  /** The path of `name` in the folder. */
  path(name: string): string;
  /** Where the log of a process belongs. */
  logFile(process: string): string;
  /** Writes a file (mode 0600) and returns its path. */
  write(name: string, content: string): string;
  /** Removes the folder. With TAINTKEEPER_KEEP_LOGS set, the logs are put beside it and their path is printed. */
  remove(): void;
}

/** Makes a temporary folder that is removed when this process ends, if not earlier. */
export function createWorkspace(purpose: string): Workspace {
  sweep();
  const folder = mkdtempSync(join(tmpdir(), `taintkeeper-${purpose}-${process.pid}-`));
  const logs = join(folder, 'logs');
  mkdirSync(logs);
  const forget = onExit(remove);

  function remove(): void {
    if (!existsSync(folder)) return;
    forget();
    if (process.env.TAINTKEEPER_KEEP_LOGS) {
      const kept = `${folder}.logs`;
      renameSync(logs, kept);
      process.stderr.write(`logs kept in ${kept}\n`);
    }
    // A process that was killed a moment ago may still be writing: try again instead of failing.
    rmSync(folder, { recursive: true, force: true, maxRetries: 5 });
  }

  return {
    path: (name) => join(folder, name),
    logFile: (name) => join(logs, `${name}.log`),
    write: (name, content) => {
      const file = join(folder, name);
      writeFileSync(file, content, { mode: 0o600 });
      return file;
    },
    remove,
  };
}

/**
 * Removes what a process that was killed has left behind. After Ctrl-C vitest kills its workers with SIGKILL within a
 * moment, often in the middle of removing some 100 MB of etcd's data.
 */
function sweep(): void {
  for (const entry of readdirSync(tmpdir())) {
    const owner = /^taintkeeper-[a-z-]+-(\d+)-\w+$/.exec(entry)?.[1];
    if (owner === undefined || isAlive(Number(owner))) continue;
    try {
      rmSync(join(tmpdir(), entry), { recursive: true, force: true });
    } catch {
      // Another user's, or another harness is at it.
    }
  }
}

/** Whether there is a process of this number, whosever it is. */
export function isAlive(pid: number): boolean {
  try {
    return process.kill(pid, 0);
  } catch (error) {
    return (error as NodeJS.ErrnoException).code === 'EPERM';
  }
}
