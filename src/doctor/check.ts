import type { Facts } from './facts/facts.ts';
import { allRead, type Reading } from './facts/reading.ts';

/** Where a problem can be, the cause first: a missing installation has no certificate, and without trust the API server makes no call. */
export const AREAS = ['installation', 'certificate', 'network', 'configuration'] as const;
export type Area = (typeof AREAS)[number];

/**
 * `note`: worth knowing, no problem. `skipped`: the check has no result, because of a problem that another check reports, or of a
 * missing right.
 */
export type CheckState = 'ok' | 'note' | 'problem' | 'skipped';

/** The result of a check. */
export interface CheckResult {
  readonly area: Area;
  /** Short and stable, such as `serving certificate`. */
  readonly name: string;
  readonly state: CheckState;
  /** What the check saw, on one line, with names, times and numbers. Never a part of a private key. */
  readonly evidence: string;
  /** What to do: a sentence, a command, or a sentence and then a command. */
  readonly remedy?: string;
  /** Set on a skipped check without which the diagnosis cannot be `healthy`. */
  readonly essential?: true;
}

/** The names of the checks. Several checks may be printed under one name. */
export type CheckName =
  | 'installation'
  | (typeof CERTIFICATE_CHECKS)[number]
  | (typeof NETWORK_CHECKS)[number]
  | 'policies'
  | 'selectors'
  | 'contradictions'
  | 'node pools'
  | 'other webhooks'
  | 'rights'
  | 'optional rights'
  | 'leader'
  | 'failed calls'
  | 'versions'
  | 'control plane'
  | 'node metadata'
  | 'ignored DaemonSets'
  | 'registration';

export const CERTIFICATE_CHECKS = [
  'Secret',
  'serving certificate',
  'certificate names',
  'agreement of replicas',
  'caBundle',
  'clocks',
] as const;

export const NETWORK_CHECKS = [
  'Service',
  'replicas',
  'endpoints',
  'round trip',
  'NetworkPolicies',
  'admission',
] as const;

/** If one of these fails, there may be no replica that can lead. None of them is about what only the leader repairs. */
export const ELECTION_NEEDS = ['Secret', 'clocks', 'Service', 'replicas', 'round trip', 'rights'] as const;

/** If one of these fails, no replica leads, or the API server refuses the leader's writes. */
export const LEADER_NEEDS = [...CERTIFICATE_CHECKS, ...NETWORK_CHECKS, 'rights'] as const;

/**
 * What one check finds, before the results of the others are considered.
 * @typeParam Name the names of the checks
 */
export interface Finding<Name extends string = CheckName> {
  readonly state: CheckState;
  readonly evidence: string;
  readonly remedy?: string;
  readonly essential?: true;
  /** If it differs from the check's area. */
  readonly area?: Area;
  /** Its name in the result, if that differs from the check's. */
  readonly name?: string;
  readonly consequence?: Consequence<Name>;
}

/** A finding that is skipped if a check that it depends on has a problem: that problem is its cause. */
export interface Consequence<Name extends string = CheckName> {
  /** The evidence of the skipped finding. */
  says(cause: string): string;
  /** The checks that can be its cause, in this order. By default all checks that its own check depends on. */
  readonly of?: readonly Name[];
}

/**
 * @typeParam F the facts that it reads
 * @typeParam Name the names of the checks in its list
 */
export interface Check<F = Facts, Name extends string = CheckName> {
  /** Unique in its list. */
  readonly name: Name;
  /** Its name in results, if that differs. */
  readonly printed?: Name;
  readonly area: Area;
  /** The checks whose problem can be the cause of what this one finds. The first that has a problem is named. */
  readonly dependsOn: readonly Name[];
  run(facts: F): Finding<Name> | readonly Finding<Name>[];
}

export function finding(state: CheckState, evidence: string, remedy?: string): Finding {
  return { state, evidence, ...(remedy === undefined ? {} : { remedy }) };
}

/** A skipped check without which the diagnosis cannot be `healthy`. */
export function essentialSkip(why: string, remedy?: string): Finding {
  return { ...finding('skipped', why, remedy), essential: true };
}

/** The finding, unless one of its causes has a problem. */
export function consequence<Name extends string = CheckName>(
  finding: Finding<Name>,
  says: Consequence['says'] = (cause) => `${finding.evidence}: see ${cause}`,
  of?: readonly Name[],
): Finding<Name> {
  return { ...finding, consequence: { says, ...(of ? { of } : {}) } };
}

/**
 * Runs a check that needs all of these facts. It is skipped if one of them could not be read.
 * @param check gets the values under the same names
 * @param options.essential the diagnosis cannot be `healthy` without the facts
 */
export function needs<T extends object>(
  facts: { readonly [Name in keyof T]: Reading<T[Name]> },
  check: (values: T) => Finding | readonly Finding[],
  { essential = false } = {},
): readonly Finding[] {
  const read = allRead<T>(facts);
  if (read.ok) return [check(read.value)].flat();
  return [essential ? essentialSkip(read.why) : finding('skipped', read.why)];
}
