import { Document, isDocument, visit } from 'yaml';

/**
 * Options of the package yaml for files of other tools. kubectl and Talos read YAML 1.1, where `yes`, `on` and `1_000` are not texts unless they are
 * quoted: a taint's value or an object's name may be one of them.
 */
export const KUBECTL_YAML = { compat: 'yaml-1.1' } as const;

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
