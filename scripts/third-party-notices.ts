import { existsSync, readdirSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { type LockedPackage, lockedPackages } from './locked-packages.ts';

const ROOT = join(import.meta.dirname, '..');

/** Only builds, but leaves helpers of its own in what it builds. */
const BUNDLER = 'rolldown';

/**
 * The notices of all packages that can be part of the program, with the bundler's: most licences ask that they go with each copy.
 * Of all, not of those whose modules a bundle names: packages have others built in.
 */
export function thirdPartyNotices(): string {
  const packages = lockedPackages().filter(({ dev, name }) => !dev || name === BUNDLER);
  return packages
    .filter(({ path }) => existsSync(join(ROOT, path)))
    .map(noticeOf)
    .sort()
    .join('\n');
}

function noticeOf({ name, version, license, path }: LockedPackage): string {
  const directory = join(ROOT, path);
  const texts = readdirSync(directory, { withFileTypes: true })
    .filter((file) => file.isFile() && /^((un)?licen[cs]e|copying|copyright|notice)/i.test(file.name))
    .map((file) => readFileSync(join(directory, file.name), 'utf8').trim())
    .sort();
  return `${name} ${version}, ${license}\n\n${texts.length > 0 ? texts.join('\n\n') : withoutText(directory)}\n`;
}

function withoutText(directory: string): string {
  const { author } = JSON.parse(readFileSync(join(directory, 'package.json'), 'utf8'));
  return `Copyright (c) ${author ?? 'its authors'}. The package has no text of its licence: whatever is named above is as others that name it have it here.`;
}
