import { oncePer } from '../collections/once-per.ts';
import { type LabelSelector, ownValue, type StringMap } from '../kubernetes/label-selector.ts';
import { isPattern } from '../kubernetes/pattern.ts';
import type { Taint } from '../kubernetes/taint.ts';
import { type CompiledTaintPolicy, inDeclaredMode } from './compiled-taint-policy.ts';
import { isEnforced, isEnforcedWithoutAudit, isOnTrial } from './enforcement.ts';
import { byStrength } from './policy-set.ts';

// A cluster may have hundreds of policies, but few select the same node, and few match the same taint. Frequent lookups use an index, which is built
// once for each list of policies. Lists do not change.

type Policies = readonly CompiledTaintPolicy[];

/** Up to this number of policies, checking each one takes less time than a lookup. */
const FEW = 8;

/** The most cached lists. A cluster needs one for each kind of node, but a user who may label nodes could cause more. */
const MAX_LISTS = 1_000;

/** The policies that select a node with these labels, in their order. Returns the same list object for the same policies. */
export function selectingPolicies(policies: Policies, labels: StringMap): Policies {
  return selectionFrom(policies)(labels);
}

/** The policies that select a node with these labels, without those that only report. */
export function enforcedPolicies(policies: Policies, labels: StringMap): Policies {
  return enforcedAmong(selectingPolicies(policies, labels));
}

/**
 * The policies that would be enforced on such a node without `--audit`. The leader removes the startup taints that they have set also with `--audit`.
 */
export function enforcedWithoutAudit(policies: Policies, labels: StringMap): Policies {
  return enforcedWithoutAuditAmong(selectingPolicies(policies, labels));
}

/** The policies of a list that do more than report. Returns the same list object each time. */
export const enforcedAmong = oncePer((policies: Policies): Policies => policies.filter(isEnforced));

/**
 * The policies of a list that would do more than report without `--audit`: copies in their declared mode, the strongest first, or the list of {@link
 * enforcedAmong}.
 */
export const enforcedWithoutAuditAmong = oncePer((policies: Policies): Policies => {
  if (!policies.some(isOnTrial)) return enforcedAmong(policies);
  return policies.filter(isEnforcedWithoutAudit).map(inDeclaredMode).sort(byStrength);
});

const selectionFrom = oncePer((policies: Policies) => {
  const { byLabel, others } = indexByLabel(policies);
  const lists = new Map<string, Policies>();

  return (labels: StringMap): Policies => {
    const places = [...others];
    for (const [key, byValue] of byLabel) places.push(...(byValue.get(ownValue(labels, key) ?? NO_VALUE) ?? []));
    const found = inOrder(places).filter((place) => policies[place]?.selectsNode(labels));
    if (found.length === policies.length) return policies;
    const name = found.join();
    const known = lists.get(name);
    if (known) return known;
    if (lists.size === MAX_LISTS) lists.clear();
    const list = at(policies, found);
    lists.set(name, list);
    return list;
  };
});

type Selecting = Pick<CompiledTaintPolicy, 'nodeSelector'>;

/** The places of those that require a label with one of some values, by its key and each value, and the places of the others. */
function indexByLabel(selecting: readonly Selecting[]) {
  const byLabel = new Map<string, Map<string, number[]>>();
  const others: number[] = [];
  for (const [place, { nodeSelector }] of selecting.entries()) {
    const required = requiredLabel(nodeSelector);
    if (!required) others.push(place);
    for (const value of required?.values ?? []) {
      const byValue = byLabel.get(required?.key ?? '') ?? new Map<string, number[]>();
      byLabel.set(required?.key ?? '', byValue);
      add(byValue, value, place);
    }
  }
  return { byLabel, others };
}

/**
 * The pairs that may select one node, in their order. Those that require different values of a label are left out: there may be a policy for each
 * node, and each pair of thousands would be compared.
 */
export function possiblePairs<T extends Selecting>(selecting: readonly T[]): [T, T][] {
  const { byLabel, others } = indexByLabel(selecting);
  return selecting.flatMap((first, place) => {
    const required = requiredLabel(first.nodeSelector);
    const places = [...others];
    for (const [key, byValue] of byLabel) {
      const values = key === required?.key ? required.values : [...byValue.keys()];
      places.push(...values.flatMap((value) => byValue.get(value) ?? []));
    }
    const later = inOrder(places.filter((other) => other > place));
    return at(selecting, later).map((second): [T, T] => [first, second]);
  });
}

/** The policies with a rule that may match taints of the key, in their order. The policy itself decides which taints it matches. */
export function policiesFor(policies: Policies, key: string): Policies {
  return policies.length <= FEW ? policies : policiesByKey(policies)(key);
}

/** Whether one of the policies, which select the node, protects the taint and does more than report. */
export function isProtectedBy(selecting: Policies, taint: Taint): boolean {
  return policiesFor(selecting, taint.key).some((policy) => protects(policy, taint));
}

/** The policies that protect the taint and do more than report. */
export function protectorsOf(selecting: Policies, taint: Taint): Policies {
  return policiesFor(selecting, taint.key).filter((policy) => protects(policy, taint));
}

function protects(policy: CompiledTaintPolicy, taint: Taint): boolean {
  return isEnforced(policy) && policy.protectingRule(taint) !== undefined;
}

const policiesByKey = oncePer((policies: Policies) => {
  const byKey = new Map<string, number[]>();
  for (const [place, { protectionRules }] of policies.entries()) {
    for (const { key } of protectionRules) add(byKey, isPattern(key) ? domainOf(key) : key, place);
  }

  return (key: string): Policies => {
    const places = [key, domainOf(key)].flatMap((one) => byKey.get(one) ?? []);
    return places.length === 0 ? NONE : at(policies, inOrder(places));
  };
});

const NONE: Policies = [];

/** A value that no label has. */
const NO_VALUE = '\0';

/** A label that a selected node must have with one of the values. Undefined if the selector requires none. */
function requiredLabel({ matchLabels = {}, matchExpressions = [] }: LabelSelector = {}) {
  const [label] = Object.entries(matchLabels);
  if (label) return { key: label[0], values: [label[1] ?? ''] };
  const among = matchExpressions.find(({ operator }) => operator === 'In');
  return among && { key: among.key, values: [...new Set(among.values)] };
}

/** `DOMAIN/` of a key or of a pattern `DOMAIN/*`. No key is equal to it. Empty for a key without domain. */
function domainOf(key: string): string {
  return key.slice(0, key.indexOf('/') + 1);
}

function add(places: Map<string, number[]>, key: string, place: number): void {
  const known = places.get(key);
  if (known) known.push(place);
  else places.set(key, [place]);
}

function inOrder(places: readonly number[]): number[] {
  return [...new Set(places)].sort((a, b) => a - b);
}

function at<T>(policies: readonly T[], places: readonly number[]): T[] {
  return places.flatMap((place) => policies[place] ?? []);
}
