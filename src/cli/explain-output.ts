import { describeOwner, type ManagedFields } from '../controllers/managed-objects.ts';
import type { NodeExplanation, TaintOnNode } from '../doctor/node-explanation.ts';
import { REMOVED_ANNOTATION } from '../judge/removal.ts';
import { formatTaint } from '../kubernetes/taint.ts';
import { printable } from '../kubernetes/text.ts';
import type { PolicyKind } from '../policy/policy.ts';
import type { OutputFormat } from './options.ts';
import { columns, formatAs, type Look } from './output.ts';

/** An Event of taintkeeper's. */
export interface ToldEvent {
  /** RFC 3339, when it was last seen. */
  readonly time: string;
  readonly reason: string;
  readonly note: string;
}

/** A condition of a policy that is not as it should be. */
export interface PolicyTrouble {
  readonly kind: PolicyKind;
  readonly policy: string;
  readonly condition: string;
  readonly reason: string;
  readonly message: string;
}

export interface ExplainedNode extends NodeExplanation {
  readonly name: string;
  /** Who wrote `spec.taints` last, as the API server has noted. */
  readonly writtenBy: ManagedFields | undefined;
  readonly troubles: readonly PolicyTrouble[];
  readonly events: readonly ToldEvent[];
  /** What could not be read. */
  readonly notes: readonly string[];
}

/** The result of `taintkeeper explain node` as text. */
export function formatExplanation(explained: ExplainedNode, format: OutputFormat): string {
  return formatAs(format, { data: () => data(explained), table: (look) => sections(explained, look).join('\n') });
}

function data({ taints, writtenBy, ...rest }: ExplainedNode): object {
  return {
    ...rest,
    taints: taints.map(({ taint, ...one }) => ({ taint: formatTaint(taint), ...one })),
    ...(writtenBy ? { writtenBy: { ...writtenBy, fieldsV1: undefined } } : {}),
    next: nextStep({ taints, ...rest, writtenBy }),
  };
}

function sections(explained: ExplainedNode, look: Look): string[] {
  const { name, taints, policies, writtenBy } = explained;
  const selecting = policies.filter(({ unmet }) => unmet.length === 0);
  const others = policies.filter(({ unmet }) => unmet.length > 0);
  return [
    taints.length === 0
      ? `node ${name} has no taints, and no policy wants one there\n`
      : columns(
          [['TAINT', 'STATE', 'WHY'], ...taints.map((one) => [formatTaint(one.taint), one.state, why(one)])],
          look,
        ),
    writtenBy ? `spec.taints is owned by ${printable(describeOwner(writtenBy))}\n` : undefined,
    policies.length === 0
      ? 'there are no TaintPolicies\n'
      : columns(
          [
            ['TAINTPOLICY', 'MODE', 'THIS NODE'],
            ...selecting.map(({ policy, mode, refusesLeaving }) => [
              policy,
              mode,
              refusesLeaving ? 'is selected, and may not leave with a protected taint' : 'is selected',
            ]),
            ...others.map(({ policy, mode, unmet }) => [policy, mode, `is not selected: needs ${unmet.join(', ')}`]),
          ],
          look,
        ),
    ...closing(explained, nextStep(explained), look),
  ].filter((section) => section !== undefined);
}

/** What explanations of all kinds end with. */
export function closing(
  { audit, troubles, events, notes }: Pick<ExplainedNode, 'audit' | 'troubles' | 'events' | 'notes'>,
  next: string,
  look: Look,
): string[] {
  const told = [
    ...(audit ? ['taintkeeper runs with --audit: it reports, and changes and refuses nothing'] : []),
    ...notes,
  ];
  return [
    troubles
      .map(({ kind, policy, condition, reason, message }) =>
        printable(`${kind} ${policy}, condition ${condition} (${reason}): ${message}`).concat('\n'),
      )
      .join(''),
    events.length > 0
      ? columns(
          [['LAST SEEN', 'EVENT', 'NOTE'], ...events.map(({ time, reason, note }) => [time, reason, printable(note)])],
          look,
        )
      : '',
    told.map((note) => `note: ${printable(note)}\n`).join(''),
    `next: ${next}\n`,
  ].filter((section) => section !== '');
}

const namedBy = (by: TaintOnNode['by']) =>
  by.map(({ policy, mode, field }) => `${policy} (${mode}, ${field})`).join(', ');
const named = ({ by }: TaintOnNode) => namedBy(by);

function why(one: TaintOnNode): string {
  const { guards = [] } = one;
  const text = standing(one);
  return guards.length === 0 || one.state === 'guarded' ? text : `${text}; additions guarded by ${namedBy(guards)}`;
}

function standing(one: TaintOnNode): string {
  switch (one.state) {
    case 'free':
      return 'no policy means it';
    case 'guarded':
      return `anybody may remove it; only those whom ${namedBy(one.guards ?? [])} exempts may add it`;
    case 'protected':
      return `protected by ${named(one)}`;
    case 'settling':
      return `not protected yet: it has to stay on the node for a while; ${named(one)}`;
    case 'removed':
      return `removed by somebody whom ${named(one)} exempts, as the annotation ${REMOVED_ANNOTATION} says`;
    case 'missing':
      return `wanted by ${named(one)}; ${hindranceText(one)}`;
  }
}

function hindranceText({ hindrance }: TaintOnNode): string {
  switch (hindrance) {
    case undefined:
      return 'the leader restores it, unless it is contested or waits for its turn';
    case 'mode':
      return 'no policy in mode Restore wants it, so it is not restored';
    case 'eviction':
      return 'it would evict pods, and no policy consents (mayEvict)';
    case 'held':
      return 'the node has it with another value, which is protected';
  }
}

/** The one thing to do next, as a command where there is one. */
function nextStep({ name, taints, troubles }: ExplainedNode): string {
  const missing = taints.filter(({ state }) => state === 'missing');
  const left = missing.find(({ hindrance }) => hindrance === 'mode');
  if (left) return `kubectl taint ${left.otherValue ? '--overwrite ' : ''}node ${name} ${formatTaint(left.taint)}`;
  const evicting = missing.find(({ hindrance }) => hindrance === 'eviction');
  const [by] = evicting?.by ?? [];
  if (by)
    return `kubectl edit taintpolicy ${by.policy}: mayEvict: true in ${by.field} lets taintkeeper set it, at a pace`;
  if (missing.some(({ hindrance }) => hindrance === 'held'))
    return `kubectl get node ${name} -o jsonpath={.spec.taints}`;
  if (missing.length > 0 || troubles.length > 0) return 'taintkeeper doctor';
  return 'nothing: the node carries what it should';
}
