import {
  cel,
  choose,
  composed,
  type Expression,
  LIST_COST,
  literal,
  reference,
  type Variable,
} from '../cel/expression.ts';
import { each, overItems } from '../cel/lists.ts';
import { FORMATTED } from '../conditions/taints.ts';
import { RELEASE_ANNOTATION } from '../judge/removal.ts';
import type { CompiledTaintPolicy } from '../policy/policy-set.ts';
import type { ResourceRule, Target, ValidationAction } from './native-policy.ts';
import { ANNOUNCED, isNamedIn, MAX_RELEASES } from './node-variables.ts';

/** Under the webhook, that is what warns the requester. */
export function reportActions(purpose: Target['purpose']): ValidationAction[] {
  return purpose === 'Alone' ? ['Audit', 'Warn'] : ['Audit'];
}

export const NODE_UPDATES: readonly ResourceRule[] = [
  { apiGroups: [''], apiVersions: ['v1'], resources: ['nodes'], operations: ['UPDATE'] },
];

/** Somebody reads this in a terminal, and the API server takes no message of more than 5 KiB. */
const MAX_TAINTS = 8;
const INDICES = Array.from({ length: MAX_TAINTS }, (_, index) => index).join(', ');

/** To put a text together, of taints in any number. */
const textCost = (size: number) => 200 * size + 2_000;

/** The taints of `lost` as kubectl writes them. */
const LOST_TEXTS: Variable = { name: 'losses', definition: each('lost', FORMATTED) };
/** Not too many of those. */
const SHOWN: Variable = {
  name: 'shown',
  definition: cel(
    LIST_COST + MAX_TAINTS * 30,
  )`size(${LOST_TEXTS}) <= ${MAX_TAINTS} ? ${LOST_TEXTS} : [${INDICES}].map(i, ${LOST_TEXTS}[i])`,
};

/** What messages about the taints of `lost` use. */
export const LOSSES: readonly Variable[] = [LOST_TEXTS, SHOWN];

const TAINTS = cel(0)`(size(${LOST_TEXTS}) == 1 ? "taint " : "taints ") +
(${SHOWN} + (size(${LOST_TEXTS}) > ${MAX_TAINTS} ? ["and " + string(size(${LOST_TEXTS}) - ${MAX_TAINTS}) + " more"] : []))
  .join(", ")`;

/** The text of all the taints, for the audit log. */
export function writtenOut(list: string): Expression {
  return cel((size) => size * (FORMATTED.cost(size) + 70))`${each(list, FORMATTED)}.join(", ")`;
}

/** The same of the {@link LOSSES}. */
export const ALL_LOSSES: Expression = cel(textCost)`${LOST_TEXTS}.join(", ")`;

/** What an Audit policy says. */
export function auditMessage({ name }: CompiledTaintPolicy): Expression {
  return text([literal(`TaintPolicy ${name}, Audit: the node lost `), TAINTS]);
}

/** What an Audit policy, or one whose Present taints were not set, says of a new node. */
export function lackingMessage({ name, mode }: CompiledTaintPolicy): Expression {
  const audit = mode === 'Audit' ? ', Audit' : '';
  return text([literal(`TaintPolicy ${name}${audit}: the node lacks `), TAINTS]);
}

/** Why the update is refused, and what the reader can do. */
export function refusalMessage(policy: CompiledTaintPolicy, mutates: boolean): Expression {
  const { name, mode, releasable, rules } = policy;
  const field = rules.length === 1 ? `${rules[0]?.field}, ` : '';
  const release = releasable ? '' : ' The policy allows no release: change the policy first.';
  const reason = text([
    '"node " + object.metadata.name + " must keep "',
    TAINTS,
    literal(`, protected by TaintPolicy "${name}" (${field}mode ${mode}).${release}`),
    ...(mode === 'Restore' ? [literal(restoreAdvice(name, mutates))] : []),
  ]);
  return releasable ? text([reason, releaseAdvice(name, mutates)]) : reason;
}

function restoreAdvice(policy: string, mutates: boolean): string {
  return mutates
    ? ` It was not restored: is MutatingAdmissionPolicy ${policy}.restore.taintkeeper.dev in force, or does a later one remove the taint again?`
    : ' It is not restored: that needs a MutatingAdmissionPolicy, which this API server does not have.';
}

/** An entry that the command below repeats: somebody will put it into a shell. */
const HARMLESS = /^[-A-Za-z0-9_./]+(=[-A-Za-z0-9_.]*)?:[A-Z][A-Za-z]+$/;
const MAX_ENTRY_LENGTH = 400;
const MATCH_COST = 1_000;

function releaseAdvice(policy: string, mutates: boolean): Expression {
  const named = isNamedIn(ANNOUNCED);
  const still = overItems('all', reference('lost'), 't', named, (size) => size * (named.cost(size) + 6) + 2);
  const spend = mutates
    ? ` Annotation ${RELEASE_ANNOTATION} is still there: MutatingAdmissionPolicy ${policy}.restore.taintkeeper.dev should have removed it. Is it in force?`
    : ` Annotation ${RELEASE_ANNOTATION} is still there: the request that removes the taint must take the entry out as well.`;
  // What was announced before stays announced: to overwrite it would only move the refusal to another taint.
  const announced = cel(0)`${ANNOUNCED}.filter(e, !(e in ${LOST_TEXTS}) && size(e) <= ${MAX_ENTRY_LENGTH} &&
    e.matches(${literal(HARMLESS.source.replaceAll('\\/', '/'))}) )`;
  const then = mutates ? '' : ` +\n${literal(', and take that out again in the request that removes the taint')}`;
  return choose(
    still,
    cel(0)`${literal(spend)}`,
    cel(
      (size) => textCost(size) + MAX_RELEASES * (MATCH_COST + size),
    )`" To remove it on purpose, first: kubectl annotate --overwrite node " + object.metadata.name +
" ${RELEASE_ANNOTATION}=" +
(${announced} + ${SHOWN})
  .join(",")${then}`,
  );
}

/** The parts, expressions or literals, one after the other. */
function text(parts: readonly (Expression | string)[]): Expression {
  const expressions = parts.map((part) => (typeof part === 'string' ? cel(0)`${part}` : part));
  const cost = (size: number) => textCost(size) + expressions.reduce((sum, part) => sum + part.cost(size), 0);
  return composed(expressions, cost, (texts) => texts.join(' +\n'));
}
