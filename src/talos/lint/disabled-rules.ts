import { InputError } from '../../files/text-files.ts';
import { RULES } from './lint.ts';

const COMMENT = /^[ \t]*#[ \t]*taintkeeper-lint-disable\b[ \t:]*(.*)$/;

/**
 * The rules that a file disables for itself, on lines of their own: `# taintkeeper-lint-disable worker-taint, two-shapes`.
 * The text after ` -- ` is a comment.
 * @param source names the text in errors
 * @throws InputError for an unknown rule: it would have no effect, and the user would not know why
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

function isRule(name: string): boolean {
  return RULE_NAMES.includes(name);
}

const RULE_NAMES: readonly string[] = RULES.map(({ id }) => id);

/** The name is not quoted, because any text of a machine configuration may be secret. */
const NO_RULE = `there is no such rule; the rules are ${RULE_NAMES.join(', ')}`;
