import { cel, composed, type Expression, LIST_COST, literal, reference, type Variable } from '../cel/expression.ts';
import { each } from '../cel/lists.ts';
import { FORMATTED } from '../conditions/taints.ts';
import { ALLOW_REMOVAL_ANNOTATION } from '../judge/allow-removal.ts';
import type { CompiledTaintPolicy } from '../policy/policy-set.ts';
import type { ResourceRule, Target, ValidationAction } from './native-policy.ts';
import { ALLOWED, MAX_ENTRIES } from './node-variables.ts';

/** With the webhook, the webhook warns the requester. */
export function reportActions(purpose: Target['purpose']): ValidationAction[] {
  return purpose === 'Alone' ? ['Audit', 'Warn'] : ['Audit'];
}

export const NODE_UPDATES: readonly ResourceRule[] = [
  { apiGroups: [''], apiVersions: ['v1'], resources: ['nodes'], operations: ['UPDATE'] },
];

/** A user reads this in a terminal, and the API server accepts no message of more than 5 KiB. */
const MAX_TAINTS = 8;
const INDICES = Array.from({ length: MAX_TAINTS }, (_, index) => index).join(', ');

/** Cost of composing a text from any number of taints. */
const textCost = (size: number) => 200 * size + 2_000;

/** How messages and records show the taints of a list, a variable. */
export interface Texts {
  /** The variables that the others use. */
  readonly variables: readonly Variable[];
  /** The taints as kubectl writes them, a list. */
  readonly each: Expression;
  /** At most {@link MAX_TAINTS} of those. */
  readonly shown: Expression;
  /** `taint a:NoSchedule`, or `taints …`. */
  readonly taints: Expression;
  /** All of them, for the audit log. */
  readonly all: Expression;
}

/** @param names the names of its variables */
export function textsOf(
  list: string,
  names: readonly [texts: string, shown: string] = [`${list}Texts`, `${list}Shown`],
): Texts {
  const texts: Variable = { name: names[0], definition: each(list, FORMATTED) };
  const shown: Variable = {
    name: names[1],
    definition: cel(
      LIST_COST + MAX_TAINTS * 30,
    )`size(${texts}) <= ${MAX_TAINTS} ? ${texts} : [${INDICES}].map(i, ${texts}[i])`,
  };
  return {
    variables: [texts, shown],
    each: reference(texts.name),
    shown: reference(shown.name),
    taints: cel(0)`(size(${texts}) == 1 ? "taint " : "taints ") +
(${shown} + (size(${texts}) > ${MAX_TAINTS} ? ["and " + string(size(${texts}) - ${MAX_TAINTS}) + " more"] : []))
  .join(", ")`,
    all: cel(textCost)`${texts}.join(", ")`,
  };
}

/** For removed or missing taints. */
export const LOST: Texts = textsOf('lost', ['losses', 'shown']);

/** The text of all the taints, for the audit log. */
export function writtenOut(list: string): Expression {
  return cel((size) => size * (FORMATTED.cost(size) + 70))`${each(list, FORMATTED)}.join(", ")`;
}

/** The message of an Audit policy. */
export function auditMessage({ name }: CompiledTaintPolicy): Expression {
  return text([literal(`TaintPolicy ${name}, Audit: the request removed `), LOST.taints]);
}

/** The message about a new node of an Audit policy, or of one whose required and startup taints were not set. */
export function lackingMessage({ name, mode }: CompiledTaintPolicy): Expression {
  const audit = mode === 'Audit' ? ', Audit' : '';
  return text([literal(`TaintPolicy ${name}${audit}: the node lacks `), LOST.taints]);
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
    LOST.taints,
    literal(` is not allowed (TaintPolicy "${name}", ${field}mode ${mode}).${advice}${alone}`),
    ...(mode === 'Restore' ? [literal(restoreAdvice(name, mutates))] : []),
  ]);
  return allowsRemovalByAnnotation ? text([reason, REMOVAL_ADVICE]) : reason;
}

function restoreAdvice(policy: string, mutates: boolean): string {
  return mutates
    ? ` It was not restored: MutatingAdmissionPolicy ${policy}.restore.taintkeeper.dev is not in force, or a later one removed the taint again.`
    : ' It is not restored: this API server has no MutatingAdmissionPolicy that works.';
}

/** An entry that the command below repeats. It must be harmless in a shell. */
const HARMLESS = /^[-A-Za-z0-9_./]+(=[-A-Za-z0-9_.]*)?:[A-Z][A-Za-z]+$/;
const MAX_ENTRY_LENGTH = 400;
const MATCH_COST = 1_000;

/** Earlier entries stay: without them, the refusal would only move to another taint. */
const KEPT_ENTRIES = cel(0)`${ALLOWED}.filter(e, !(e in ${LOST.each}) && size(e) <= ${MAX_ENTRY_LENGTH} &&
    e.matches(${literal(HARMLESS.source.replaceAll('\\/', '/'))}) )`;

const REMOVAL_ADVICE = cel(
  (size) => textCost(size) + MAX_ENTRIES * (MATCH_COST + size),
)`" To allow it, and then remove it: kubectl annotate --overwrite node " + object.metadata.name +
" ${ALLOW_REMOVAL_ANNOTATION}=" +
(${KEPT_ENTRIES} + ${LOST.shown})
  .join(",")`;

/** The parts, expressions or literals, concatenated. */
function text(parts: readonly (Expression | string)[]): Expression {
  const expressions = parts.map((part) => (typeof part === 'string' ? cel(0)`${part}` : part));
  const cost = (size: number) => textCost(size) + expressions.reduce((sum, part) => sum + part.cost(size), 0);
  return composed(expressions, cost, (texts) => texts.join(' +\n'));
}
