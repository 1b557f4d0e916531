import { cel, concatenated, type Expression, LIST_COST, literal, reference, type Variable } from '../cel/expression.ts';
import { each, isEmpty } from '../cel/lists.ts';
import { FORMATTED } from '../cel-rules/taints.ts';
import { ALLOW_REMOVAL_ANNOTATION, MAX_ENTRY_LENGTH } from '../judge/allow-removal.ts';
import type { CompiledTaintPolicy } from '../policy/compiled-taint-policy.ts';
import { ALLOWED, MAX_ENTRIES } from './allow-removal-entries.ts';
import { nativeName } from './native-parts.ts';
import type { ValidationAction } from './native-policy.ts';
import type { Target } from './translation.ts';

/** With the webhook, the webhook warns the requester. */
export function reportActions(purpose: Target['purpose']): ValidationAction[] {
  return purpose === 'Alone' ? ['Audit', 'Warn'] : ['Audit'];
}

/** A user reads this in a terminal, and the API server accepts no message of more than 5 KiB. */
const MAX_TAINTS = 8;
const INDICES = Array.from({ length: MAX_TAINTS }, (_, index) => index).join(', ');

/**
 * Cost of composing a text from any number of taints. A taint has 400 characters: a text of all of them is joined (80 for each), and then becomes a part
 * of a longer text (40), with room for as much again. 2,000 are for the fixed parts of a message, concatenated one by one.
 */
const textCost = (size: number) => 200 * size + 2_000;

const VIOLATIONS = 'violations';
/** The violations as kubectl writes them. */
const TEXTS: Variable = { name: 'violationTexts', definition: each(reference(VIOLATIONS), FORMATTED) };
/** At most {@link MAX_TAINTS} of those. For each item, a comprehension and two accesses. */
const SHOWN: Variable = {
  name: 'shown',
  definition: cel(
    LIST_COST + MAX_TAINTS * 30,
  )`size(${TEXTS}) <= ${MAX_TAINTS} ? ${TEXTS} : [${INDICES}].map(i, ${TEXTS}[i])`,
};
/** `taint a:NoSchedule`, or `taints …`. */
const TAINTS = cel(0)`(size(${TEXTS}) == 1 ? "taint " : "taints ") +
(${SHOWN} + (size(${TEXTS}) > ${MAX_TAINTS} ? ["and " + string(size(${TEXTS}) - ${MAX_TAINTS}) + " more"] : []))
  .join(", ")`;

/** The variables of the messages and of {@link NO_VIOLATIONS}, for these violations: removed taints, or taints that a new node lacks. */
export function violationVariables(definition: Expression): Variable[] {
  return [{ name: VIOLATIONS, definition }, TEXTS, SHOWN];
}

export const NO_VIOLATIONS: Expression = isEmpty(reference(VIOLATIONS));

/** All violations, for the audit log. */
export const ALL_VIOLATIONS: Expression = cel(textCost)`${TEXTS}.join(", ")`;

/** The text of all the taints, for the audit log. */
export function writtenOut(list: Variable): Expression {
  // 400 characters that are joined, for each taint.
  return cel((size) => size * 50)`${each(list, FORMATTED)}.join(", ")`;
}

/** The message of an Audit policy. */
export function auditMessage({ name }: CompiledTaintPolicy): Expression {
  return text([literal(`TaintPolicy ${name}, Audit: the request removed `), TAINTS]);
}

/** The message about a new node of an Audit policy, or of one whose required and startup taints were not set. */
export function missingMessage({ name, mode }: CompiledTaintPolicy): Expression {
  const audit = mode === 'Audit' ? ', Audit' : '';
  return text([literal(`TaintPolicy ${name}${audit}: the node lacks `), TAINTS]);
}

/** Why the update is refused, and what the reader can do. */
export function refusalMessage(policy: CompiledTaintPolicy, { mutates, purpose }: Target): Expression {
  const { name, mode, allowsRemovalByAnnotation, protectionRules, failurePolicy } = policy;
  const field = protectionRules.length === 1 ? `${protectionRules[0]?.field}, ` : '';
  const advice = allowsRemovalByAnnotation
    ? ''
    : ' The policy does not allow removal by annotation: change the policy first.';
  // A removal that was allowed by annotation passes here. The API server calls the webhook afterwards.
  const needsUs = allowsRemovalByAnnotation && purpose === 'Backstop' && failurePolicy === 'Fail';
  const alone = needsUs
    ? ' While no replica of taintkeeper runs, failurePolicy: Fail also refuses removals that were allowed by annotation.'
    : '';
  const reason = text([
    '"node " + object.metadata.name + ": removing "',
    TAINTS,
    literal(` is not allowed (TaintPolicy "${name}", ${field}mode ${mode}).${advice}${alone}`),
    ...(mode === 'Restore' ? [literal(restoreAdvice(name, mutates))] : []),
  ]);
  return allowsRemovalByAnnotation ? text([reason, REMOVAL_ADVICE]) : reason;
}

function text(parts: readonly (Expression | string)[]): Expression {
  return concatenated(parts, textCost);
}

function restoreAdvice(policy: string, mutates: boolean): string {
  return mutates
    ? ` It was not restored: MutatingAdmissionPolicy ${nativeName(policy, 'restore')} is not in force, or a later one removed the taint again.`
    : ' It is not restored: this API server has no MutatingAdmissionPolicy that works.';
}

/** An entry that the command below repeats. It must be harmless in a shell. */
const HARMLESS = /^[-A-Za-z0-9_./]+(=[-A-Za-z0-9_.]*)?:[A-Z][A-Za-z]+$/;
/** A fourth of a unit for each of 60 characters of the pattern, times a tenth for each of {@link MAX_ENTRY_LENGTH}: 600, and room for the other calls. */
const MATCH_COST = 1_000;

/** Earlier entries stay: without them, the refusal would only move to another taint. */
const KEPT_ENTRIES = cel(
  (size) => MAX_ENTRIES * (MATCH_COST + size),
)`${ALLOWED}.filter(e, !(e in ${TEXTS}) && size(e) <= ${MAX_ENTRY_LENGTH} &&
    e.matches(${literal(HARMLESS.source.replaceAll('\\/', '/'))}) )`;

const REMOVAL_ADVICE = cel(
  textCost,
)`" To allow it, and then remove it: kubectl annotate --overwrite node " + object.metadata.name +
" ${ALLOW_REMOVAL_ANNOTATION}=" +
(${KEPT_ENTRIES} + ${SHOWN})
  .join(",")`;
