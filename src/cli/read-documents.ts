import { text } from 'node:stream/consumers';
import { parseDocuments, type SourceDocument } from '../files/documents.ts';
import { readText } from '../files/read-text.ts';

/**
 * The documents of a file that somebody named; `-` is standard input.
 * @throws InputError
 */
export async function readDocuments(file: string): Promise<SourceDocument[]> {
  return file === '-'
    ? parseDocuments(await text(process.stdin), 'standard input')
    : parseDocuments(await readText(file), file);
}
