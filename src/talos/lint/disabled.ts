import { InputError } from '../../files/text-files.ts';
import { RULES } from './lint.ts';

const COMMENT = /^[ \t]*#[ \t]*taintkeeper-lint-disable\b[ \t:]*(.*)$/;

/**
 * The rules that a file switches off for itself, in lines of their own: `# taintkeeper-lint-disable worker-taint, two-shapes`.
 * What follows ` -- ` is for people.
 * @param source names the text in errors
 * @throws InputError for a rule that is none: it would go on being heard, and nobody would know why
 */
export function disabledIn(text: string, source: string): string[] {
  const disabled: string[] = [];
  const faults: string[] = [];
  for (const [index, line] of text.split('\n').entries()) {
    const [, list] = COMMENT.exec(line.trimEnd()) ?? [];
    if (list === undefined) continue;
    const names = (list.split(/(?:^|\s)--(?:\s|$)/)[0] ?? '').split(/[\s,]+/).filter(Boolean);
    if (names.length === 0)
      faults.push(`${source}:${index + 1}: expected the names of rules after taintkeeper-lint-disable`);
    for (const name of names) {
      if (isRule(name)) disabled.push(name);
      else faults.push(`${source}:${index + 1}: ${NO_RULE}`);
    }
  }
  if (faults.length > 0) throw new InputError(faults);
  return disabled;
}

export function isRule(name: string): boolean {
  return RULES.some(({ id }) => id === name);
}

/** The name is not quoted: whatever stands in a machine configuration may be secret. */
const NO_RULE = `there is no such rule; the rules are ${RULES.map(({ id }) => id).join(', ')}`;
