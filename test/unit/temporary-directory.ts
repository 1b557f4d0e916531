import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { onTestFinished } from 'vitest';

/** An empty directory that goes with the running test. */
export function temporaryDirectory(): string {
  const directory = mkdtempSync(join(tmpdir(), 'taintkeeper-unit-'));
  onTestFinished(() => rmSync(directory, { recursive: true, force: true }));
  return directory;
}

/** The path of a file with this text that goes with the running test. */
export function temporaryFile(name: string, text: string): string {
  const path = join(temporaryDirectory(), name);
  writeFileSync(path, text);
  return path;
}
