import { createReadStream } from 'node:fs';
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

/**
 * The same, of `-` for standard input too, when nobody knows what is in it: at most `maxBytes` are read.
 * @throws InputError if it cannot be read, is larger, or is no text
 */
export async function readBoundedText(path: string, maxBytes: number): Promise<string> {
  const source = path === '-' ? 'standard input' : path;
  const chunks: Buffer[] = [];
  let size = 0;
  try {
    for await (const chunk of path === '-' ? process.stdin : createReadStream(path)) {
      size += (chunk as Buffer).length;
      if (size > maxBytes) break;
      chunks.push(chunk as Buffer);
    }
  } catch (error) {
    throw new InputError([`cannot read ${source}: ${(error as Error).message}`]);
  }
  if (size > maxBytes)
    throw new InputError([`${source}: larger than ${maxBytes / 1024 / 1024} MiB: is it the right file?`]);
  try {
    const text = new TextDecoder('utf-8', { fatal: true }).decode(Buffer.concat(chunks));
    if (!text.includes('\0')) return text;
  } catch {
    // Not UTF-8.
  }
  throw new InputError([`${source}: this is no text: is it the right file?`]);
}
