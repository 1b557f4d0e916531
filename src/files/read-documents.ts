import { parseDocuments, type SourceDocument } from './documents.ts';
import { InputError } from './input-error.ts';
import { listFiles, readText, sourceName } from './text-files.ts';

/**
 * The documents of named files and directories, see {@link listFiles}.
 * @throws InputError
 */
export async function readDocuments(paths: readonly string[]): Promise<SourceDocument[]> {
  const files = await listFiles(paths);
  const read = files.map(async (file) => parseDocuments(await readText(file), sourceName(file)));
  return (await Promise.all(read)).flat();
}

/** What was read of files. */
export interface FilesRead<T> {
  /** One for each file that could be read, in order. */
  readonly found: readonly T[];
  /** One line for each problem of the others. */
  readonly faults: readonly string[];
}

/**
 * Reads the documents of each file, see {@link listFiles}. A file that cannot be read does not hide the others.
 * @param read may throw InputError
 * @throws InputError if a path does not exist, or no file could be read
 */
export async function readEachFile<T>(
  paths: readonly string[],
  read: (documents: readonly SourceDocument[]) => T,
): Promise<FilesRead<T>> {
  const files = await listFiles(paths);
  const found: T[] = [];
  const faults: string[] = [];
  for (const file of files) {
    try {
      found.push(read(parseDocuments(await readText(file), sourceName(file))));
    } catch (error) {
      if (!(error instanceof InputError)) throw error;
      faults.push(...error.faults);
    }
  }
  if (found.length === 0 && faults.length > 0) throw new InputError(faults);
  return { found, faults };
}
