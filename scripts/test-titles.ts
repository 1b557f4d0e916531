import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { parseAst } from 'rolldown/parseAst';

const ROOT = join(import.meta.dirname, '..');

/** What vitest and `npm run fuzz` call a test: `it('title', …)`, `it.each(cases)('title', …)`, `target('title', …)`. */
const TEST_FUNCTIONS = new Set(['it', 'test', 'target']);

/** A placeholder of a title of `it.each`: `$what`, `%s`. */
const PLACEHOLDER = /\$[\w.]+|%[sdifjoO#]/g;

interface SyntaxNode {
  readonly type: string;
  readonly [field: string]: unknown;
}

/**
 * Whether the file has a test of that title. Where the file's title has placeholders, the title has to be that of one case: what is in
 * their places stands in the file, too.
 * @param path from the project's root
 */
export function hasTest(path: string, title: string): boolean {
  const titles: string[] = [];
  const literals = new Set<string>();
  visit(parseAst(readFileSync(join(ROOT, path), 'utf8'), { lang: 'ts' }) as unknown, (node) => {
    if (node.type === 'Literal') literals.add(String(node.value));
    if (node.type !== 'CallExpression' || !TEST_FUNCTIONS.has(functionOf(node))) return;
    const [first] = node.arguments as SyntaxNode[];
    if (first?.type === 'Literal' && typeof first.value === 'string') titles.push(first.value);
  });
  return titles.some((found) => {
    if (found === title) return true;
    const pattern = found.split(PLACEHOLDER).map(RegExp.escape).join('(.+)');
    const [, ...filled] = new RegExp(`^${pattern}$`).exec(title) ?? [];
    return filled.length > 0 && filled.every((text = '') => literals.has(text));
  });
}

/** `it` of `it(…)`, `it.each(…)(…)` and `it.each<T>(…)(…)`. */
function functionOf({ callee }: SyntaxNode): string {
  const node = callee as SyntaxNode;
  if (node.type === 'Identifier') return String(node.name);
  if (node.type === 'MemberExpression') return functionOf({ type: '', callee: node.object });
  return node.type === 'CallExpression' ? functionOf(node) : '';
}

function visit(node: unknown, each: (node: SyntaxNode) => void): void {
  if (Array.isArray(node)) for (const item of node) visit(item, each);
  else if (typeof node === 'object' && node !== null) {
    if ('type' in node && typeof node.type === 'string') each(node as SyntaxNode);
    for (const item of Object.values(node)) visit(item, each);
  }
}
