import { valueAt } from '../../kubernetes/json.ts';
import { kindOf } from '../document-values.ts';
import type { Entry } from '../fields.ts';
import { formatVersion } from '../versions.ts';
import { ARGUMENT_LISTS_SINCE, type FieldFact, fieldFacts } from './field-facts.ts';
import type { LintSubject, Rule, RuleFinding } from './finding.ts';
import { typeInWords, valueInWords, writeInstead } from './types-in-words.ts';

export const WRONG_TYPE: Rule = {
  id: 'wrong-type',
  severity: 'refused',
  about:
    'A value of another type than Talos reads, such as a text in place of a mapping, a list in place of a text, or nested values in `extraArgs`: Talos refuses the whole configuration.',
  check: wrongTypes,
};

/** Exported for the commands that read declarations, which a value of the wrong type hides. */
export function wrongTypes(subject: Pick<LintSubject, 'configuration' | 'version' | 'patch'>): RuleFinding[] {
  return fieldFacts(subject).flatMap((fact) => (fact.fact === 'wrong type' ? [finding(fact, subject)] : []));
}

function finding(
  { document, path, type, entry }: FieldFact & { readonly fact: 'wrong type' },
  { version }: Pick<LintSubject, 'version'>,
): RuleFinding {
  const value = valueAt(document.value, path);
  if (path.length === 0) {
    return { document, path, reason: `this is ${valueInWords(value)}: ${REFUSED}`, fix: 'write a mapping of fields' };
  }
  // An item of a list of arguments is a text of its own.
  if (type === 'arg' && Array.isArray(value) && version !== undefined) {
    return { document, path, ...argumentList(version) };
  }
  const what = `this is ${valueInWords(value)}, and Talos reads ${typeInWords(type)}: ${REFUSED}`;
  return { document, path, reason: what, fix: writeInstead(type, value, mainField(entry, kindOf(document))) };
}

const REFUSED = 'it refuses the configuration';

function argumentList(version: number): Pick<RuleFinding, 'reason' | 'fix'> {
  const { minor, patch } = ARGUMENT_LISTS_SINCE;
  const fix = 'write one text, with commas between the parts';
  return version < minor
    ? { reason: `${formatVersion(version)} reads one text for an argument, and no list: ${REFUSED}`, fix }
    : {
        reason: `Talos 1.${minor}.0 to 1.${minor}.${patch - 1} cannot read a list here, by a bug: ${REFUSED}`,
        fix: `${fix}, or upgrade to Talos 1.${minor}.${patch} first and name that version`,
      };
}

/** The field for which people write the value alone. */
const MAIN_FIELDS: readonly string[] = ['type', 'disk', 'image', 'endpoint', 'hostname', 'servers', 'name', 'enabled'];

function mainField(entry: Entry | undefined, kind: unknown): string | undefined {
  const names = [...(entry?.children.keys() ?? [])].filter((name) => kind === undefined || name !== 'kind');
  return MAIN_FIELDS.find((name) => names.includes(name)) ?? names[0];
}
