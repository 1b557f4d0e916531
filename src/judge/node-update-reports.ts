import { own } from '../kubernetes/label-selector.ts';
import { requirementsOf } from '../kubernetes/selector-overlap.ts';
import { formatTaint, type Taint } from '../kubernetes/taint.ts';
import { atMost, shellWord } from '../kubernetes/text.ts';
import { enforcedPolicies } from '../policy/policy-index.ts';
import type { CompiledTaintPolicy } from '../policy/policy-set.ts';
import {
  ALLOW_REMOVAL_ANNOTATION,
  isRemovalAllowed,
  parseAllowedRemovals,
  unreadableEntries,
} from './allow-removal.ts';
import { allow, type Decision, taintViolation, type Violation } from './decision.ts';
import { MAX_JUDGED, removalRestriction } from './node-changes.ts';
import { isKubelet, type NodeUpdate } from './node-view.ts';
import type { Outcome } from './outcomes.ts';
import { isEnforcing, isForbidden, type Protection, type Ruling, type Rulings } from './rulings.ts';
import type { Unselection } from './unselections.ts';

/** The text is read in a terminal. */
const MAX_TAINTS = 8;

/** The denied changes of an update. */
interface Refused {
  /** Taints that it removes. */
  readonly deniedRemovals: readonly Ruling[];
  /** Taints that it adds. */
  readonly deniedAdditions: readonly Ruling[];
  /** Taints of policies that no longer select the node. */
  readonly deniedUnselections: readonly Unselection[];
}

/** Why an update is denied: the changes, the policies that deny them, and what the reader can do. */
export function refusal(request: NodeUpdate, refused: Refused): string {
  const { node, oldNode, requester } = request;
  const { deniedRemovals, deniedAdditions, deniedUnselections } = refused;
  const losses = deniedRemovals.map(
    ({ taint, by }) => `node ${node.name}: removing taint ${formatTaint(taint)} is not allowed (${byOf(by)}).`,
  );
  const additions = deniedAdditions.map(
    ({ taint, by }) => `node ${node.name}: adding taint ${formatTaint(taint)} is not allowed (${byOf(by)}).`,
  );
  const unselected = [...Map.groupBy(deniedUnselections, ({ policy }) => policy)].map(([policy, taints]) =>
    unselectionText(request, policy, taints),
  );
  return [
    ...atMost(MAX_TAINTS, [...losses, ...additions, ...unselected]),
    ...webhookHints(refused, isKubelet(requester)),
    ...ownerHints(deniedAdditions),
    ...removalHints(node.name, oldNode.allowRemoval, deniedRemovals, deniedUnselections),
  ].join(' ');
}

function byOf(by: readonly Protection[]): string {
  return by.map(({ policy, field }) => `TaintPolicy "${policy.name}", ${field}, mode ${policy.mode}`).join('; ');
}

function unselectionText(
  { node, oldNode }: NodeUpdate,
  { name, mode, nodeSelector }: CompiledTaintPolicy,
  deniedUnselections: readonly Unselection[],
): string {
  const keys = new Set(requirementsOf(nodeSelector).map(({ key }) => key));
  const changed = [...keys].filter((key) => own(node.labels, key) !== own(oldNode.labels, key));
  const labels = `${changed.length === 1 ? 'label' : 'labels'} ${atMost(MAX_TAINTS, changed).join(', ')}`;
  const taints = atMost(
    MAX_TAINTS,
    deniedUnselections.map(({ taint }) => formatTaint(taint)),
  ).join(', ');
  return (
    `node ${node.name}: changing ${labels} so that the policy no longer selects the node is not allowed while the node carries ` +
    `${deniedUnselections.length === 1 ? 'taint' : 'taints'} ${taints} (TaintPolicy "${name}", restrict: Unselection, mode ${mode}).`
  );
}

function webhookHints({ deniedRemovals, deniedAdditions }: Refused, byKubelet: boolean): string[] {
  const isRestore = ({ mode }: Ruling) => mode === 'Restore';
  const undone = [
    ...(deniedRemovals.some(isRestore) ? ['restored'] : []),
    ...(deniedAdditions.some(isRestore) ? ['removed'] : []),
  ];
  if (undone.length > 0 && byKubelet) {
    return ['An update by the node itself is refused: the API server does not let nodes change their taints.'];
  }
  return undone.map((what) => {
    const undid = what === 'restored' ? 'removed' : 'added';
    return `It was not ${what}: taintkeeper's mutating webhook was not called, or a later webhook ${undid} the taint again (to check: taintkeeper doctor).`;
  });
}

/** Who may add a taint, as the policies say. */
function ownerHints(deniedAdditions: readonly Ruling[]): string[] {
  const policies = new Set(deniedAdditions.flatMap(({ by }) => by.map(({ policy }) => policy)));
  return [...policies].map(({ name, exempt: { users, groups } }) => {
    const owners = [...users.map((user) => `user ${user}`), ...groups.map((group) => `group ${group}`)];
    return owners.length === 0
      ? `TaintPolicy "${name}" exempts no user: to add the taint on purpose, change the policy first.`
      : `Only users that TaintPolicy "${name}" exempts may add the taint: ${atMost(MAX_TAINTS, owners).join(', ')}.`;
  });
}

function removalHints(
  node: string,
  annotation: string | undefined,
  deniedRemovals: readonly Ruling[],
  deniedUnselections: readonly Unselection[],
): string[] {
  const allowed = parseAllowedRemovals(annotation);
  const unreadable = unreadableEntries(allowed);
  const policies = [
    ...deniedRemovals.flatMap(({ by }) => by.map(({ policy }) => policy)),
    ...deniedUnselections.map(({ policy }) => policy),
  ];
  const closed = new Set(policies.filter((policy) => !policy.allowsRemovalByAnnotation).map(({ name }) => name));
  const [noun, verb, object] =
    closed.size === 1 ? ['TaintPolicy', 'does', 'policy'] : ['TaintPolicies', 'do', 'policies'];
  const open = deniedRemovals.filter(({ by }) => by.every(({ policy }) => policy.allowsRemovalByAnnotation));
  const unspent = open.filter(({ taint }) => isRemovalAllowed(allowed, taint));
  const removable = open.filter((ruling) => !unspent.includes(ruling));
  const unselectable = deniedUnselections.filter(({ policy }) => policy.allowsRemovalByAnnotation);
  const announceable = [...removable, ...unselectable].map(({ taint }) => formatTaint(taint));
  // What was announced before stays announced: to overwrite it would only move the refusal to another taint.
  const announced = allowed.entries.filter(isHarmless).map(({ text }) => text);
  const taints = [...new Set([...announced, ...announceable.slice(0, MAX_TAINTS)])].join(',');
  const purpose = [
    ...(removable.length > 0 ? ['remove it'] : []),
    ...(unselectable.length > 0 ? ['change the label'] : []),
  ].join(' and ');
  return [
    ...(unreadable.length > 0 && deniedRemovals.length + deniedUnselections.length > 0
      ? [
          `Annotation ${ALLOW_REMOVAL_ANNOTATION}: cannot read "${atMost(MAX_TAINTS, unreadable).join('", "')}", expected key=value:Effect.`,
        ]
      : []),
    // With others refused, mutation leaves it there on purpose.
    ...(deniedRemovals.length > 0 && unspent.length === deniedRemovals.length
      ? [
          `Annotation ${ALLOW_REMOVAL_ANNOTATION} is still set: taintkeeper's mutating webhook, which removes it, was not called (to check: taintkeeper doctor).`,
        ]
      : []),
    ...(closed.size > 0
      ? [`${noun} "${[...closed].join('", "')}" ${verb} not allow removal by annotation: change the ${object} first.`]
      : []),
    ...(announceable.length > 0
      ? [
          `To ${purpose} on purpose, first: kubectl annotate --overwrite node ${shellWord(node)} ${shellWord(`${ALLOW_REMOVAL_ANNOTATION}=${taints}`)}`,
        ]
      : []),
  ];
}

/** Users who may patch nodes write the annotation, and another user may paste the command into a shell. */
function isHarmless({ text, taint }: { text: string; taint?: unknown }): boolean {
  return taint !== undefined && /^[\w./=:-]+$/.test(text);
}

/** A change of the protection of a taint that stays. It is reported, because it can be the first of two steps that remove the taint. */
export interface ReportedChange {
  readonly violation?: Violation;
  readonly warning: string;
}

/** What Deny and Restore policies allow: by exemption, by a change of labels, or by an announcement in the annotation. */
export function reportAllowed(
  request: NodeUpdate,
  { removals, additions }: Rulings,
  unselected: readonly Unselection[],
  policies: readonly CompiledTaintPolicy[],
): Decision<never> {
  const byExemption = (rulings: readonly Ruling[], outcome: Outcome) =>
    rulings
      .filter((ruling) => !isForbidden(ruling))
      .flatMap((ruling) => violationsOf(ruling, ruling.exempt.filter(isEnforcing), outcome));
  const changes: ReportedChange[] = [
    ...unselected.filter(isEnforcing).map(reportUnselection),
    ...reportAnnouncements(request, policies),
  ];
  return allow(
    [
      ...byExemption(removals, 'exempt'),
      ...byExemption(additions, 'addition-exempt'),
      ...changes.flatMap(({ violation }) => (violation ? [violation] : [])),
    ],
    changes.map(({ warning }) => warning),
  );
}

/** The update ends the selection of the node by the policy, which does not forbid it. */
export function reportUnselection({ policy, taint, field, isRefused }: Unselection): Required<ReportedChange> {
  return {
    violation: taintViolation(policy, field, taint, isRefused ? 'unselection-audited' : 'unselected'),
    warning: isRefused
      ? `TaintPolicy ${policy.name}, Audit: the request ended the protection of taint ${formatTaint(taint)}`
      : `TaintPolicy ${policy.name} no longer protects taint ${formatTaint(taint)}: it no longer selects the node`,
  };
}

/** What a new value of the annotation `allow-removal` allows, and the entries that have no effect. */
function reportAnnouncements(request: NodeUpdate, policies: readonly CompiledTaintPolicy[]): ReportedChange[] {
  const { node, oldNode, requester } = request;
  if (node.allowRemoval === oldNode.allowRemoval) return [];
  const allowed = parseAllowedRemovals(node.allowRemoval);
  const enforcing = enforcedPolicies(policies, node.labels).filter(
    (policy) => policy.removalRules.length > 0 && !policy.exempts(requester),
  );
  if (allowed.entries.every(({ isNotice }) => isNotice) || enforcing.length === 0) return [];

  const named = protections(
    enforcing,
    node.taints.filter((taint) => isRemovalAllowed(allowed, taint)).slice(0, MAX_JUDGED + 1),
    request,
  ).map(
    ({ policy, taint, field }): ReportedChange =>
      policy.allowsRemovalByAnnotation
        ? {
            violation: taintViolation(policy, field, taint, 'announced'),
            warning: `TaintPolicy ${policy.name} allows the removal of taint ${formatTaint(taint)}, once`,
          }
        : { warning: `TaintPolicy ${policy.name} does not allow removal by annotation of taint ${formatTaint(taint)}` },
  );
  const unreadable = unreadableEntries(allowed).map((text) => ({
    warning: `${ALLOW_REMOVAL_ANNOTATION}: cannot read "${text}", expected key=value:Effect`,
  }));
  const idle =
    named.length + unreadable.length === 0
      ? [{ warning: `${ALLOW_REMOVAL_ANNOTATION} names no protected taint of this node` }]
      : [];
  return [...named, ...unreadable, ...idle];
}

function protections(
  policies: readonly CompiledTaintPolicy[],
  taints: readonly Taint[],
  { oldNode }: Pick<NodeUpdate, 'oldNode'>,
) {
  return policies.flatMap((policy) =>
    taints.flatMap((taint, index) => {
      const isBeyond = index === MAX_JUDGED;
      const field = removalRestriction(policy, taint, { isBeyond, established: oldNode.established });
      return field === undefined ? [] : [{ policy, taint, field }];
    }),
  );
}

/** A violation for each of the policies. */
export function violationsOf({ taint }: Ruling, protections: readonly Protection[], outcome: Outcome): Violation[] {
  return protections.map(({ policy, field }) => taintViolation(policy, field, taint, outcome));
}

/** The policies, as a sentence begins with them. */
export function policyNames(protections: readonly Protection[]): string {
  return `TaintPolicy ${protections.map(({ policy }) => policy.name).join(', ')}`;
}

/** By what enforcing would do, where only --audit makes the policies' mode Audit. */
export function auditWarnings({ taint, by }: Ruling, what: 'removed' | 'added'): string[] {
  const text = `taint ${formatTaint(taint)}`;
  const modeOf = ({ policy, field }: Protection) => (what === 'removed' ? policy.trial(field) : policy.declared);
  return [...Map.groupBy(by, modeOf)].map(([mode, protections]) => {
    if (mode === 'Audit')
      return `${policyNames(protections)}, Audit: the request ${what === 'removed' ? 'removed' : 'added restricted'} ${text}`;
    const [denied, undone] = what === 'removed' ? ['deny removing', 'restore'] : ['deny adding', 'remove added'];
    return `${policyNames(protections)} would ${mode === 'Deny' ? denied : undone} ${text} (--audit)`;
  });
}

/** That mutation removed a taint which the request added. */
export function removedText(by: string, taint: Taint): string {
  return `${by} removed taint ${formatTaint(taint)}: only exempt users may add it`;
}
