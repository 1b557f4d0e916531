import { readFile } from 'node:fs/promises';
import { InputError } from './input-error.ts';

/**
 * The contents of a file that somebody named.
 * @throws InputError if it cannot be read
 */
export async function readText(path: string): Promise<string> {
  try {
    return await readFile(path, 'utf8');
  } catch (error) {
    throw new InputError([`cannot read ${path}: ${(error as Error).message}`]);
  }
}
