import { choose, type Expression, LIST_COST, literal, other, type Variable } from '../cel/expression.ts';
import { each, mapped } from '../cel/lists.ts';
import { WRITTEN } from '../conditions/settled.ts';
import { RELEASE_ANNOTATION } from '../judge/release.ts';
import type { ResourceRule, TranslationOptions, ValidationAction } from './native-policy.ts';
import { isNamedIn, MAX_RELEASES, type NodeSubject } from './node-subject.ts';

/** Under the webhook, that is what warns the requester. */
export function reportActions(purpose: TranslationOptions['purpose']): ValidationAction[] {
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

/** `losses`: the taints of `lost` as kubectl writes them; `shown`: not too many of those. */
export const LOSSES: readonly Variable[] = [
  { name: 'losses', definition: each('lost', WRITTEN) },
  {
    name: 'shown',
    definition: other(
      `size(losses) <= ${MAX_TAINTS} ? losses : [${INDICES}].map(i, losses[i])`,
      LIST_COST + MAX_TAINTS * 30,
      ['losses'],
    ),
  },
];

const TAINTS = `(size(losses) == 1 ? "taint " : "taints ") +
(shown + (size(losses) > ${MAX_TAINTS} ? ["and " + string(size(losses) - ${MAX_TAINTS}) + " more"] : []))
  .join(", ")`;

/** The text of all the taints, for the audit log. */
export function writtenOut(list: string): Expression {
  return other(`${mapped(list, WRITTEN.text)}.join(", ")`, (size) => size * (WRITTEN.cost(size) + 70), [list]);
}

/** The same of the {@link LOSSES}. */
export const ALL_LOSSES: Expression = other('losses.join(", ")', textCost, ['losses']);

/** What an Audit policy says. */
export function auditMessage({ name }: NodeSubject): Expression {
  return text([literal(`TaintPolicy ${name}, Audit: the node lost `), TAINTS]);
}

/** What an Audit policy, or one whose Present taints were not set, says of a new node. */
export function lackingMessage({ name, mode }: NodeSubject): Expression {
  const audit = mode === 'Audit' ? ', Audit' : '';
  return text([literal(`TaintPolicy ${name}${audit}: the node lacks `), TAINTS]);
}

/** Why the update is refused, and what the reader can do. */
export function refusalMessage(policy: NodeSubject, mutates: boolean): Expression {
  const { name, mode, releasable, taints } = policy;
  const field = taints.length === 1 ? 'spec.taints[0], ' : '';
  const release = releasable ? '' : ' The policy allows no release: only a change of the policy does.';
  const reason = text([
    '"node " + object.metadata.name + " must keep "',
    TAINTS,
    literal(`, protected by TaintPolicy "${name}" (${field}mode ${mode}).${release}`),
    ...(mode === 'Restore' ? [literal(restoreAdvice(name, mutates))] : []),
  ]);
  return releasable ? concat(reason, releaseAdvice(name, mutates)) : reason;
}

function restoreAdvice(policy: string, mutates: boolean): string {
  return mutates
    ? ` It was not put back: is MutatingAdmissionPolicy ${policy}.restore.taintkeeper.dev in force, and does none after it undo that?`
    : ' It is not put back: that takes a MutatingAdmissionPolicy, which this API server does not have.';
}

/** An entry that the command below repeats: somebody will put it into a shell. */
const HARMLESS = /^[-A-Za-z0-9_./]+(=[-A-Za-z0-9_.]*)?:[A-Z][A-Za-z]+$/;
const MAX_ENTRY_LENGTH = 400;
const MATCH_COST = 1_000;

function releaseAdvice(policy: string, mutates: boolean): Expression {
  const named = isNamedIn('announced');
  const still = other(`lost.all(t, ${named.text})`, (size) => size * (named.cost(size) + 6) + 2, [
    'lost',
    ...named.uses,
  ]);
  const spend = mutates
    ? ` Annotation ${RELEASE_ANNOTATION} is still there: is MutatingAdmissionPolicy ${policy}.restore.taintkeeper.dev in force, which spends it?`
    : ` Annotation ${RELEASE_ANNOTATION} is still there: the request that removes the taint must take the entry out as well.`;
  // What was announced before stays announced: to overwrite it would only move the refusal to another taint.
  const announced = `announced.filter(e, !(e in losses) && size(e) <= ${MAX_ENTRY_LENGTH} &&
    e.matches(${literal(HARMLESS.source.replaceAll('\\/', '/'))}) )`;
  const then = mutates ? '' : ` +\n${literal(', and take that out again in the request that removes the taint')}`;
  return choose(
    still,
    other(literal(spend), 0),
    other(
      `" To remove it on purpose, first: kubectl annotate --overwrite node " + object.metadata.name +
" ${RELEASE_ANNOTATION}=" +
(${announced} + shown)
  .join(",")${then}`,
      (size) => textCost(size) + MAX_RELEASES * (MATCH_COST + size),
      ['announced', 'losses', 'shown'],
    ),
  );
}

function text(parts: readonly string[]): Expression {
  return other(parts.join(' +\n'), textCost, ['losses', 'shown']);
}

function concat(a: Expression, b: Expression): Expression {
  return other(`${a.text} +\n${b.text}`, (size) => a.cost(size) + b.cost(size) + textCost(size), [
    ...a.uses,
    ...b.uses,
  ]);
}
