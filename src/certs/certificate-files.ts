import { readFile, rename, rm, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { readablePrivateKey } from '../files/private-key.ts';
import { reasonOf, unreadable } from '../files/text-files.ts';
import { FILES, type StoredFiles } from './stored-files.ts';

/** The paths of all {@link FILES}. */
export function certificateFiles(directory: string): string[] {
  return Object.values(FILES).map((file) => join(directory, file));
}

/** Why a directory of certificates cannot be served. The message names the file and never shows its contents. */
export class CertificateDirectoryError extends Error {
  override name = 'CertificateDirectoryError';
}

/**
 * Reads the existing files.
 * @throws CertificateDirectoryError for a file that cannot be read, or half a pair that taintkeeper may not complete
 */
export async function readStored(directory: string): Promise<StoredFiles> {
  // The files are written in the reverse order: a reader that sees the serving pair also sees the CA's key.
  const cert = await read(directory, FILES.cert);
  const key = await read(directory, FILES.key);
  const bundle = await read(directory, FILES.bundle);
  const caKey = await read(directory, FILES.caKey);
  if (caKey === undefined && (cert === undefined) !== (key === undefined)) {
    const [there, missing] = cert === undefined ? [FILES.key, FILES.cert] : [FILES.cert, FILES.key];
    throw new CertificateDirectoryError(
      `${join(directory, there)} is there without ${missing}: add it, or remove both`,
    );
  }
  return { cert, key, bundle, caKey };
}

async function read(directory: string, file: string): Promise<string | undefined> {
  try {
    return readablePrivateKey(await readFile(join(directory, file), 'utf8'));
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code === 'ENOENT') return undefined;
    throw new CertificateDirectoryError(unreadable(join(directory, file), error));
  }
}

/**
 * Writes files, mode 0600. Each is replaced atomically: a reader sees the old one or the new one. None is replaced before there is space for all of
 * them. Otherwise a certificate could be left without its key.
 * @throws CertificateDirectoryError
 */
export async function store(directory: string, files: Readonly<Record<string, string>>): Promise<void> {
  const written = Object.entries(files).map(([file, content]) => {
    const target = join(directory, file);
    return { target, temporary: `${target}.${process.pid}.tmp`, content };
  });
  let at = '';
  try {
    for (const { target, temporary, content } of written) {
      at = target;
      await writeFile(temporary, content, { mode: 0o600 });
    }
    for (const { target, temporary } of written) {
      at = target;
      await rename(temporary, target);
    }
  } catch (error) {
    for (const { temporary } of written) await rm(temporary, { force: true }).catch(() => {});
    throw new CertificateDirectoryError(`cannot write ${at}: ${reasonOf(error)}`);
  }
}

/**
 * Keeps the replaced file as `FILE.old`.
 * @throws CertificateDirectoryError
 */
export async function keepOld(directory: string, files: readonly string[]): Promise<void> {
  for (const file of files) {
    const target = join(directory, file);
    try {
      await rename(target, `${target}.old`);
    } catch (error) {
      if ((error as NodeJS.ErrnoException).code === 'ENOENT') continue;
      throw new CertificateDirectoryError(`cannot rename ${target}: ${reasonOf(error)}`);
    }
  }
}
