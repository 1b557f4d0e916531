import { lstat, mkdir, rmdir } from 'node:fs/promises';
import { join } from 'node:path';
import { setTimeout as delay } from 'node:timers/promises';
import { makeDirectory } from '../files/make-directory.ts';

const RETRY_MS = 20;
/** Issuing takes a tenth of a second: a lock as old as this was left behind by a process that was killed. */
const STALE_MS = 10_000;

/**
 * Does the work while nobody else, in this process or another, works under the lock of the same directory, which is made
 * if need be. The lock is a subdirectory: making one succeeds for exactly one of many.
 * @throws the errors of {@link makeDirectory}, such as EACCES, or what the work throws
 */
export async function withDirectoryLock<T>(directory: string, work: () => Promise<T>): Promise<T> {
  const lock = join(directory, '.lock');
  await makeDirectory(directory);
  while (!(await make(lock))) {
    // Also if it seems to be from the future: then a clock was mended since.
    if (Math.abs(Date.now() - (await madeAt(lock))) > STALE_MS) await remove(lock);
    else await delay(RETRY_MS);
  }
  try {
    return await work();
  } finally {
    await remove(lock);
  }
}

async function make(lock: string): Promise<boolean> {
  try {
    await mkdir(lock);
    return true;
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code === 'EEXIST') return false;
    throw error;
  }
}

/** Now, if it has just gone. */
async function madeAt(lock: string): Promise<number> {
  return (await lstat(lock).catch(() => undefined))?.mtimeMs ?? Date.now();
}

async function remove(lock: string): Promise<void> {
  try {
    await rmdir(lock);
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code !== 'ENOENT') throw error;
  }
}
