import { readdir, readFile } from 'node:fs/promises';
import { extname } from 'node:path';
import { digestOf, etagOf } from './etag.ts';

/** The page's files by their names, as texts. */
export type PageFiles = Readonly<Record<string, string>>;

/** Set in the bundle (see rolldown.config.ts). Source code reads the files. */
declare const PAGE_FILES: PageFiles | undefined;

const FOLDER = new URL('static/', import.meta.url);

const TYPES: Readonly<Record<string, string>> = {
  '.html': 'text/html; charset=utf-8',
  '.css': 'text/css; charset=utf-8',
  '.js': 'text/javascript; charset=utf-8',
  '.svg': 'image/svg+xml',
};

/** The placeholder for the build in `index.html`, see {@link buildOf}. */
const BUILD_PLACE = '{build}';

/** One file, as it is served. */
export interface StaticFile {
  /** Its path: `/` for `index.html`. */
  readonly path: string;
  readonly type: string;
  readonly etag: string;
  readonly body: Buffer;
}

/** The files of `static/` that are served. */
export async function readPageFiles(): Promise<PageFiles> {
  if (typeof PAGE_FILES !== 'undefined') return PAGE_FILES;
  const names = (await readdir(FOLDER)).filter((name) => extname(name) in TYPES).sort();
  return Object.fromEntries(
    await Promise.all(names.map(async (name) => [name, await readFile(new URL(name, FOLDER), 'utf8')])),
  );
}

/**
 * Identifies the files. An open page compares its own build with that of each state. The version is not enough: two builds of one version can have
 * different files.
 */
export function buildOf(files: PageFiles): string {
  return digestOf(JSON.stringify(files));
}

/** @param build see {@link buildOf} */
export function staticFiles(files: PageFiles, build: string): StaticFile[] {
  return Object.entries(files).map(([name, source]) => {
    const isIndex = name === 'index.html';
    const text = isIndex ? source.replace(BUILD_PLACE, build) : source;
    return {
      path: isIndex ? '/' : `/${name}`,
      type: TYPES[extname(name)] ?? 'application/octet-stream',
      etag: etagOf(text),
      body: Buffer.from(text),
    };
  });
}
