import { createReadStream } from 'node:fs';
import { readdir, readFile, stat } from 'node:fs/promises';
import { join, resolve } from 'node:path';
import { text } from 'node:stream/consumers';
import { groupsBy } from '../collections/groups-by.ts';
import { InputError } from './input-error.ts';

/** The name of a file in errors: `-` is standard input. */
export function sourceName(file: string): string {
  return file === '-' ? 'standard input' : file;
}

/**
 * The contents of a named file; `-` is standard input.
 * @throws InputError if it cannot be read
 */
export async function readText(file: string): Promise<string> {
  try {
    return file === '-' ? await text(process.stdin) : await readFile(file, 'utf8');
  } catch (error) {
    throw new InputError([unreadable(file, error)]);
  }
}

/** One line that says why a file cannot be read. */
export function unreadable(file: string, error: unknown): string {
  return `${sourceName(file)}: ${reasonOf(error)}`;
}

/** Texts for the codes of the system (strerror of POSIX). */
const REASONS: Readonly<Record<string, string>> = {
  EACCES: 'permission denied',
  EISDIR: 'is a directory',
  ENOENT: 'not found',
  ENOSPC: 'no space left on device',
  ENOTDIR: 'not a directory',
  EPERM: 'operation not permitted',
  EROFS: 'read-only file system',
};

/** Why a file cannot be read or written, as text: without the code, the system call and the path that Node.js adds. */
export function reasonOf(error: unknown): string {
  const { code, message } = error as NodeJS.ErrnoException;
  return REASONS[code ?? ''] ?? message;
}

/**
 * The same for unknown content: reads at most `maxBytes`.
 * @throws InputError if it cannot be read, is larger, or is not text
 */
export async function readBoundedText(file: string, maxBytes: number): Promise<string> {
  const source = sourceName(file);
  const chunks: Buffer[] = [];
  let size = 0;
  try {
    for await (const chunk of file === '-' ? process.stdin : createReadStream(file)) {
      size += (chunk as Buffer).length;
      if (size > maxBytes) break;
      chunks.push(chunk as Buffer);
    }
  } catch (error) {
    throw new InputError([unreadable(file, error)]);
  }
  if (size > maxBytes)
    throw new InputError([`${source}: larger than ${maxBytes / 1024 / 1024} MiB: is it the right file?`]);
  try {
    const decoded = new TextDecoder('utf-8', { fatal: true }).decode(Buffer.concat(chunks));
    if (!decoded.includes('\0')) return decoded;
  } catch {
    // Not UTF-8.
  }
  throw new InputError([`${source}: this is no text: is it the right file?`]);
}

/**
 * The files of paths: a file itself, and of a directory its `.yaml`, `.yml` and `.json` files (without subdirectories), by name, as with `kubectl
 * apply -f`. `-` is standard input. A file that several paths name is given once.
 * @throws InputError for paths that do not exist
 */
export async function listFiles(paths: readonly string[]): Promise<string[]> {
  const faults: string[] = [];
  const lists = await Promise.all(
    paths.map(async (path) => {
      if (path === '-') return [path];
      try {
        if (!(await stat(path)).isDirectory()) return [path];
        const names = await readdir(path);
        return (
          names
            // Hidden files are locks of editors and copies of file systems.
            .filter((name) => /^[^.].*\.(ya?ml|json)$/.test(name))
            .sort()
            .map((name) => join(path, name))
        );
      } catch (error) {
        faults.push(unreadable(path, error));
        return [];
      }
    }),
  );
  // All errors, because the order of failures is random.
  if (faults.length > 0) throw new InputError(faults.sort());
  return groupsBy(lists.flat(), fileIdentity).map(([first]) => first);
}

/** Equal for names of the same file, apart from links. */
export function fileIdentity(file: string): string {
  return file === '-' ? file : resolve(file);
}
