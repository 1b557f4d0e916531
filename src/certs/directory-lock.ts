import { randomUUID } from 'node:crypto';
import { lstat, mkdir, readdir, rename, rmdir } from 'node:fs/promises';
import { join } from 'node:path';
import { makeDirectory } from '../files/make-directory.ts';
import { pause } from '../runtime/pause.ts';

const RETRY_MS = 20;
/** Issuing takes a tenth of a second: a lock as old as this belongs to a process that was killed. */
const STALE_MS = 10_000;

/** The process that holds the lock. */
interface Holder {
  /** The name of the entry in the lock. */
  readonly name: string;
  readonly isStale: boolean;
}

/**
 * Does the work while no other caller, in this process or another, holds the lock of the same directory. Creates the
 * directory if it does not exist.
 *
 * The lock is a subdirectory with one entry, named after its holder. Each step is one system call that succeeds for one process. A directory with an
 * entry of this process is renamed to the lock, which fails while the lock has an entry (rename(2), ENOTEMPTY). The entry of a killed holder is
 * renamed, which fails once another process has done so. At the end, the entry is removed.
 * @throws the errors of {@link makeDirectory}, such as EACCES, or the work's own errors
 */
export async function withDirectoryLock<T>(directory: string, work: () => Promise<T>): Promise<T> {
  await makeDirectory(directory);
  const lock = join(directory, '.lock');
  const name = randomUUID();
  for (;;) {
    const holder = await holderOf(lock);
    if (holder === undefined ? await take(lock, name) : holder.isStale && (await takeOver(lock, holder, name))) break;
    if (holder?.isStale === false) await pause(RETRY_MS);
  }
  try {
    return await work();
  } finally {
    await unless(['ENOENT'], rmdir(join(lock, name)));
    // Another process may have it already.
    await unless(['ENOENT', 'ENOTEMPTY', 'EEXIST'], rmdir(lock));
  }
}

/** Undefined if there is no lock, or no entry in it. */
async function holderOf(lock: string): Promise<Holder | undefined> {
  const [name] = (await unless(['ENOENT'], readdir(lock))) ?? [];
  const stats = name === undefined ? undefined : await unless(['ENOENT'], lstat(lock));
  if (name === undefined || stats === undefined) return undefined;
  // Also if it seems to be from the future: a clock was corrected since.
  return { name, isStale: Math.abs(Date.now() - stats.mtimeMs) > STALE_MS };
}

async function take(lock: string, name: string): Promise<boolean> {
  const prepared = `${lock}-${name}`;
  await mkdir(join(prepared, name), { recursive: true });
  try {
    await rename(prepared, lock);
    return true;
  } catch (error) {
    await rmdir(join(prepared, name));
    await rmdir(prepared);
    if (['ENOTEMPTY', 'EEXIST'].includes((error as NodeJS.ErrnoException).code ?? '')) return false;
    throw error;
  }
}

/** Sets the time of the lock's last change to now. */
async function takeOver(lock: string, holder: Holder, name: string): Promise<boolean> {
  return (
    (await unless(
      ['ENOENT'],
      rename(join(lock, holder.name), join(lock, name)).then(() => true),
    )) ?? false
  );
}

/** Undefined if the operation failed in one of these ways. */
async function unless<T>(codes: readonly string[], operation: Promise<T>): Promise<T | undefined> {
  try {
    return await operation;
  } catch (error) {
    if (codes.includes((error as NodeJS.ErrnoException).code ?? '')) return undefined;
    throw error;
  }
}
