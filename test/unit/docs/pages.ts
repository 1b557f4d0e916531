import { globSync, readFileSync } from 'node:fs';
import { join } from 'node:path';

export const ROOT = join(import.meta.dirname, '..', '..', '..');

/** A Markdown file of the project. */
export interface Page {
  /** From the project's root, such as `docs/install.md`. */
  readonly path: string;
  readonly text: string;
}

/** Every page that a reader may be at: those at the root, in docs/ and design/, and beside what they are about. */
export function allPages(): Page[] {
  const paths = globSync(['*.md', '{docs,design,bench,certs,manifests,examples,test}/**/*.md'], { cwd: ROOT });
  return paths.sort().map((path) => ({ path, text: readFileSync(join(ROOT, path), 'utf8') }));
}

/** The contents of a page's blocks in a language. */
export function blocksOf({ text }: Page, language: string): string[] {
  return [...text.matchAll(new RegExp(`^\`\`\`${language}\n([\\s\\S]*?)^\`\`\`$`, 'gm'))].map(
    ([, block = '']) => block,
  );
}

/** A command of a console block, on one line, and what the page shows below it. */
export interface ShownCommand {
  readonly command: string;
  readonly output: string;
}

export function commandsOf(page: Page): ShownCommand[] {
  return blocksOf(page, 'console').flatMap((block) =>
    [...block.replaceAll(/ *\\\n */g, ' ').matchAll(/^\$ (.*)\n((?:(?!\$ ).*\n)*)/gm)].map(
      ([, command = '', output = '']) => ({ command, output }),
    ),
  );
}

/** A command in the text of a page. A name of a program alone, or with an ellipsis, is none. */
const IN_TEXT =
  /`((?:kubectl -?[a-z-]+ |helm [a-z ]+ taintkeeper |taintkeeper (?:doctor|explain |certs |coverage fix ))[^`…]*)`/g;

/** The commands that a page shows without output: the lines of its sh blocks, and those in its text and tables. */
export function shellCommandsOf(page: Page): string[] {
  const lines = blocksOf(page, 'sh').flatMap((block) =>
    block
      .replaceAll(/ *\\\n */g, ' ')
      .trim()
      .split('\n'),
  );
  const inText = [...page.text.matchAll(IN_TEXT)].map(([, command = '']) => command);
  return [...lines.filter((line) => !line.startsWith('#')), ...inText];
}
