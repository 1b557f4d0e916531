import { Document, isDocument, visit } from 'yaml';
import type { KUBECTL_YAML } from './documents.ts';

/**
 * Characters that a terminal obeys, does not show, or shows in another order, apart from line breaks and tabs. Texts of objects may have them: every
 * user who may create an Event writes its note, and the packages for JSON and YAML print most of them as they are.
 */
const UNSEEN = /[^\P{Cc}\n\t]|[\p{Cf}\p{Cs}\p{Zl}\p{Zp}]/gu;

/** JSON that is safe to print. A program reads the same data. */
export function jsonText(data: unknown): string {
  // In JSON, these characters are within quotes only.
  return JSON.stringify(data, null, 2).replaceAll(UNSEEN, (character) => character.split('').map(unit).join(''));
}

/** YAML that is safe to print, the same way. A message is one line, however long, so that it can be searched for. */
export function yamlText(data: unknown, options: Partial<typeof KUBECTL_YAML> = {}): string {
  const document = isDocument(data) ? data : new Document(data, options);
  visit(document, {
    Scalar(_key, node) {
      // YAML has escapes within double quotes only.
      if (typeof node.value === 'string' && node.value.search(UNSEEN) >= 0) node.type = 'QUOTE_DOUBLE';
    },
  });
  return document.toString({ lineWidth: 0 }).replaceAll(UNSEEN, (character) => {
    const code = character.codePointAt(0) ?? 0;
    return code > 0xffff ? `\\U${hex(code, 8)}` : `\\u${hex(code, 4)}`;
  });
}

function unit(character: string): string {
  return `\\u${hex(character.charCodeAt(0), 4)}`;
}

function hex(code: number, digits: number): string {
  return code.toString(16).padStart(digits, '0');
}
