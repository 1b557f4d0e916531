import { readdirSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import type { Plugin } from 'rolldown';

/** The folder of the package that a module belongs to. */
const PACKAGE = /^(.*\/node_modules\/(?:@[^/]+\/)?[^/]+)\//;

/** Leaves beside a bundle, in `fileName`, the notices of all packages of which it has a part: their licences ask for that. */
export function thirdPartyNotices(fileName: string): Plugin {
  return {
    name: 'third-party-notices',
    generateBundle(_options, files) {
      const modules = Object.values(files).flatMap((file) => (file.type === 'chunk' ? file.moduleIds : []));
      const directories = new Set(modules.flatMap((id) => PACKAGE.exec(id.replaceAll('\0', ''))?.[1] ?? []));
      this.emitFile({ type: 'asset', fileName, source: [...directories].map(noticeOf).sort().join('\n') });
    },
  };
}

function noticeOf(directory: string): string {
  const { name, version, license, author = '' } = JSON.parse(readFileSync(join(directory, 'package.json'), 'utf8'));
  const texts = readdirSync(directory)
    .filter((file) => /^(licen[cs]e|copying|notice)\b/i.test(file))
    .sort()
    .map((file) => readFileSync(join(directory, file), 'utf8').trim());
  // Few have none.
  if (texts.length === 0) texts.push(author.name ?? author);
  return `${name} ${version}, ${license}\n\n${texts.join('\n\n')}\n`;
}
