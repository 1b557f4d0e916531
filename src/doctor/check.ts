import { count, printable } from '../kubernetes/text.ts';
import type { Facts } from './facts.ts';
import { all, type Reading } from './reading.ts';

/** What can be to blame, first things first: what is not there cannot fail, without trust no call is made, and without calls no setting matters. */
export const AREAS = ['installation', 'certificate', 'network', 'configuration'] as const;
export type Area = (typeof AREAS)[number];

/**
 * `note`: worth knowing, no problem. `skipped`: it could not tell anything, because of something that another check
 * reports, or a right that is missing.
 */
export type CheckState = 'ok' | 'note' | 'trouble' | 'skipped';

/** What a check found. */
export interface CheckResult {
  readonly area: Area;
  /** Short and stable, such as `serving certificate`. */
  readonly name: string;
  readonly state: CheckState;
  /** One line: what was seen, with names, times, numbers. Nothing of a private key. */
  readonly evidence: string;
  /** The one sentence, or the command, that mends it; of both, the command comes last. */
  readonly remedy?: string;
  /** Of one that was skipped: without it nobody can say that all is well. */
  readonly essential?: true;
}

/** The checks by name. Several may be printed under one name. */
export type CheckName =
  | 'installation'
  | (typeof CERTIFICATE_CHECKS)[number]
  | (typeof NETWORK_CHECKS)[number]
  | 'policies'
  | 'selectors'
  | 'contradictions'
  | 'node pools'
  | 'wildcards'
  | 'other webhooks'
  | 'rights'
  | 'optional rights'
  | 'reports'
  | 'leader'
  | 'failed calls'
  | 'versions'
  | 'records on nodes'
  | 'tolerate grants'
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

/** Without one of these no replica leads, or what the leader writes is refused. */
export const LEADER_NEEDS = [...CERTIFICATE_CHECKS, ...NETWORK_CHECKS, 'rights'] as const;

/** What a check makes of the facts, before the others are asked. */
export interface Finding {
  readonly state: CheckState;
  readonly evidence: string;
  readonly remedy?: string;
  readonly essential?: true;
  /** Where that is another one than the check's. */
  readonly area?: Area;
  readonly consequence?: Consequence;
}

/** A finding that says nothing new where a check that it depends on has trouble: it is then skipped. */
export interface Consequence {
  /** The evidence then. */
  says(cause: string): string;
  /** The checks that can be its cause, in this order; by default all that its own check depends on. */
  readonly of?: readonly CheckName[];
}

/** @typeParam F what it goes by */
export interface Check<F = Facts> {
  readonly name: CheckName;
  /** What it is called in results, if that is not its name. */
  readonly printed?: CheckName;
  readonly area: Area;
  /** Whose trouble, or what that follows from, may be the cause of what it finds; the first that has trouble is named. */
  readonly dependsOn: readonly CheckName[];
  run(facts: F): Finding | readonly Finding[];
}

export function finding(state: CheckState, evidence: string, remedy?: string): Finding {
  return { state, evidence, ...(remedy === undefined ? {} : { remedy }) };
}

/** The finding, unless one of the causes has trouble. */
export function consequence(
  found: Finding,
  says: Consequence['says'] = (cause) => `${found.evidence}: see ${cause}`,
  of?: readonly CheckName[],
): Finding {
  return { ...found, consequence: { says, ...(of ? { of } : {}) } };
}

/**
 * What a check finds in facts that all have to be known; it is skipped where one of them could not be read.
 * @param check gets their values by the same names
 */
export function needs<T extends object>(
  facts: { readonly [Name in keyof T]: Reading<T[Name]> },
  check: (values: T) => readonly Finding[],
): readonly Finding[] {
  const read = all<T>(facts);
  return read.ok ? check(read.value) : [finding('skipped', read.why)];
}

/**
 * What the checks come to. Only causes are `trouble`: what may follow from the trouble of another check is `skipped`, and names
 * that one.
 * @param asked those whose results are wanted; of the others only what these depend on is run
 * @throws Error where one depends on what is not in the list, or on itself
 */
export function runChecks<F>(all: readonly Check<F>[], facts: F, asked: readonly Check<F>[] = all): CheckResult[] {
  const results = new Map<CheckName, readonly CheckResult[] | 'running'>();
  /** Of what was skipped, the trouble that it follows from: what depends on it follows from that as well. */
  const causes = new Map<CheckResult, CheckResult>();
  return asked.flatMap(resultsOf);

  function resultsOf(check: Check<F>): readonly CheckResult[] {
    const known = results.get(check.name);
    if (known === 'running') throw new Error(`${check.name} depends on itself`);
    if (known) return known;
    results.set(check.name, 'running');
    for (const name of check.dependsOn) resultsOf(named(name));
    const found = [check.run(facts)].flat().map((one) => resultOf(check, one));
    results.set(check.name, found);
    return found;
  }

  function resultOf(check: Check<F>, { consequence, area = check.area, ...found }: Finding): CheckResult {
    const { evidence, remedy } = found;
    const name = check.printed ?? check.name;
    const cause = consequence && causeAmong(consequence.of ?? check.dependsOn);
    if (cause) {
      const evidence = printable(consequence.says(cause.name));
      const skipped: CheckResult = { area: check.area, name, state: 'skipped', evidence };
      causes.set(skipped, cause);
      return skipped;
    }
    const words = { evidence: printable(evidence), ...(remedy === undefined ? {} : { remedy: printable(remedy) }) };
    return { area, name, ...found, ...words };
  }

  function causeAmong(names: readonly CheckName[]): CheckResult | undefined {
    const found = names.flatMap((name) => resultsOf(named(name)));
    return found.find(({ state }) => state === 'trouble') ?? found.map((one) => causes.get(one)).find(Boolean);
  }

  function named(name: CheckName): Check<F> {
    const check = all.find((one) => one.name === name);
    if (!check) throw new Error(`there is no check ${name}`);
    return check;
  }
}

/**
 * What taintkeeper suffers from, or that it does not. `unknown`: no problem was seen, but neither was something essential,
 * or anything at all of some area.
 */
export type Verdict = Area | 'healthy' | 'unknown';

export interface Diagnosis {
  readonly verdict: Verdict;
  /** One line, without the verdict. */
  readonly summary: string;
  readonly checks: readonly CheckResult[];
}

/** Names what is to blame: the first area of {@link AREAS} with trouble. Every check reports causes only, no consequences. */
export function diagnose(checks: readonly CheckResult[]): Diagnosis {
  const troubles = AREAS.flatMap((area) => checks.filter((check) => check.area === area && check.state === 'trouble'));
  const [first, ...others] = troubles;
  if (first) {
    const more = others.length > 0 ? ` (and ${count(others.length, 'more problem')} below)` : '';
    return { verdict: first.area, summary: `${first.evidence}${more}`, checks };
  }
  const unseen = checks.find((check) => check.state === 'skipped' && (check.essential || isBlind(check.area)));
  if (unseen) return { verdict: 'unknown', summary: `${unseen.name}: ${unseen.evidence}`, checks };
  const notes = checks.filter(({ state }) => state === 'note').length;
  const seen = checks.filter(({ state }) => state !== 'skipped').length;
  const noted = notes > 0 ? `, ${count(notes, 'note')}` : '';
  return { verdict: 'healthy', summary: `${count(seen, 'check')}, no problems${noted}`, checks };

  function isBlind(area: Area): boolean {
    return checks.every((check) => check.area !== area || check.state === 'skipped');
  }
}
