import { type CST, Parser } from 'yaml';
import { unlocatedDocument } from '../files/documents.ts';
import { type Malformed, malformed } from './field-location.ts';

/**
 * Tabs in the indentation, before a comment or alone on a line. The package yaml reads them as spaces; libyaml, from which the parsers of Talos and
 * kubectl are made, refuses the whole text ("found a tab character that violates indentation").
 */
export function tabs(text: string, source: string): Malformed[] {
  if (/^\s*[{[]/.test(text) || !/^[ -]*\t/m.test(text)) return [];
  return [...new Parser().parse(text)]
    .flatMap((token) => spaces(token))
    .flatMap(({ offset, source: space }) => {
      const tab = offset + space.indexOf('\t');
      const lines = text.slice(0, tab).split('\n');
      const before = lines.pop() ?? '';
      const above = lines.findLast((line) => line.trim() !== '') ?? '';
      const isRefused = before.trim() === '' ? before.length <= above.search(/\S|$/) : /^[ -]*-$/.test(before);
      if (!space.includes('\t') || !isRefused) return [];
      const place = `${source}:${lines.length + 1}:${before.length + 1}`;
      const document = unlocatedDocument(null, place);
      return [
        malformed({ document, path: [] }, 'this line is indented by a tab', 'spaces, or nothing before the comment'),
      ];
    });
}

/** The spaces of a token outside of flow collections and texts, where tabs are allowed. */
function spaces(token: unknown): CST.SourceToken[] {
  if (Array.isArray(token)) return token.flatMap(spaces);
  if (typeof token !== 'object' || token === null) return [];
  const { type, start, key, sep, value, items, end, props } = token as Record<string, unknown>;
  if (type === 'space') return [token as CST.SourceToken];
  return type === 'flow-collection' ? [] : [start, key, sep, value, items, end, props].flatMap(spaces);
}
