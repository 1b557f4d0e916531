import type { StoredNode } from '../../../../src/judge/node-view.ts';
import type { StringMap } from '../../../../src/kubernetes/label-selector.ts';
import type { Taint } from '../../../../src/kubernetes/taint.ts';
import type { TaintPolicySpec } from '../../../../src/policy/taint-policy.ts';
import type { TaintRule } from '../../../../src/policy/taint-rule.ts';

// What policies declare of a node, read from their specs as docs/concepts.md says it, without the code of src. It judges that code, for the policies
// that test/unit/judge/node/node-sequences.ts makes: their selectors are labels, and their domains have no transient keys.

export const identityOf = ({ key, effect }: Taint): string => `${key}:${effect}`;
const STARTUP = ['UntilReady', 'AtRegistration'] as const;

export const textOf = ({ key, value, effect }: Taint): string => `${key}${value ? `=${value}` : ''}:${effect}`;

/** A taint that a policy sets. */
export interface Declaration {
  readonly policy: TaintPolicySpec;
  readonly taint: Taint;
  readonly anyValue: boolean;
  /** `afterReboot: SetAgain` */
  readonly setsAgain: boolean;
  /** The progress deadline in milliseconds, with `afterDeadline: Remove`. */
  readonly removeAfterMs: number | undefined;
}

/** What the policies that do more than report say of a node. */
export interface Declared {
  readonly policies: readonly TaintPolicySpec[];
  /** `ensure: Always` */
  readonly required: readonly Declaration[];
  /** `ensure: UntilReady` */
  readonly untilReady: readonly Declaration[];
  /** These, and those of `ensure: AtRegistration`. */
  readonly startup: readonly Declaration[];
  /** Whether a policy protects or sets the taint, with its value, on nodes of other labels. */
  isKeptElsewhere(taint: Taint): boolean;
  /** The policies that protect the taint. */
  protectorsOf(taint: Taint): readonly TaintPolicySpec[];
}

export function declared(specs: Readonly<Record<string, TaintPolicySpec>>, ...labels: readonly StringMap[]): Declared {
  const enforced = Object.values(specs).filter(({ mode }) => mode !== 'Audit');
  const policies = enforced.filter((policy) => labels.some((one) => selects(policy, one)));
  const elsewhere = enforced.filter((policy) => !policies.includes(policy));
  const startupKeys = enforced.flatMap(({ taints }) =>
    taints.flatMap(({ key, ensure }) => (ensure !== undefined && ensure !== 'Always' ? key : [])),
  );
  return {
    policies,
    required: declarations(policies, 'Always'),
    untilReady: declarations(policies, 'UntilReady'),
    startup: [...declarations(policies, 'UntilReady'), ...declarations(policies, 'AtRegistration')],
    isKeptElsewhere: (taint) =>
      elsewhere.some(({ taints }) => taints.some((rule) => protects(rule, taint, startupKeys))) ||
      STARTUP.flatMap((ensure) => declarations(elsewhere, ensure)).some(({ taint: set, anyValue }) =>
        anyValue ? identityOf(set) === identityOf(taint) : textOf(set) === textOf(taint),
      ),
    protectorsOf: (taint) => policies.filter(({ taints }) => taints.some((rule) => protects(rule, taint, startupKeys))),
  };
}

function selects({ nodeSelector }: TaintPolicySpec, labels: StringMap): boolean {
  return Object.entries(nodeSelector?.matchLabels ?? {}).every(([key, value]) => labels[key] === value);
}

function declarations(policies: readonly TaintPolicySpec[], ensure: TaintRule['ensure']): Declaration[] {
  return policies.flatMap((policy) =>
    policy.taints
      .filter((rule) => rule.ensure === ensure)
      .map(
        ({
          key,
          value,
          effect = '',
          afterReboot,
          readyWhen: { progressDeadlineSeconds = 600, afterDeadline } = {},
        }) => ({
          policy,
          taint: { key, value, effect },
          anyValue: value === undefined,
          setsAgain: afterReboot === 'SetAgain',
          removeAfterMs: afterDeadline === 'Remove' ? progressDeadlineSeconds * 1_000 : undefined,
        }),
      ),
  );
}

function protects(rule: TaintRule, { key, value, effect }: Taint, startupKeys: readonly string[]): boolean {
  if (rule.ensure !== undefined && rule.ensure !== 'Always') return false;
  const isMeant = rule.key.endsWith('/*')
    ? key.startsWith(rule.key.slice(0, -1)) && ![...(rule.except ?? []), ...startupKeys].includes(key)
    : key === rule.key;
  return (
    isMeant &&
    (rule.effect === undefined || rule.effect === effect) &&
    (rule.value === undefined || rule.value === (value ?? ''))
  );
}

/** Whether the taints have what is declared. */
export function isMet({ taint, anyValue }: Declaration, taints: readonly Taint[]): boolean {
  return taints.some(
    (one) => identityOf(one) === identityOf(taint) && (anyValue || (one.value ?? '') === (taint.value ?? '')),
  );
}

/** The entries of an annotation that are taints. */
export function entriesOf(annotation = ''): string[] {
  const texts = annotation.split(',').map((text) => text.trim());
  return texts.filter((text) => /^\S+:(NoSchedule|PreferNoSchedule|NoExecute)$/.test(text));
}

/** Whether an entry keeps off what is declared: it names the taint, with any value if the policy names none. */
export function isKeptOff({ policy, taint, anyValue }: Declaration, annotation: string | undefined): boolean {
  if (policy.removalByAnnotation === 'Forbidden') return false;
  return entriesOf(annotation).some((entry) =>
    anyValue
      ? entry === identityOf(taint) || (entry.startsWith(`${taint.key}=`) && entry.endsWith(`:${taint.effect}`))
      : entry === textOf(taint),
  );
}

/** Whether an entry keeps off a startup taint of this identity. Its policies say together which values count, and whether they read entries. */
export function isStartupKeptOff({ untilReady }: Declared, taint: Taint, annotation: string | undefined): boolean {
  const alike = untilReady.filter((one) => identityOf(one.taint) === identityOf(taint));
  const anyValue = alike.some((one) => one.anyValue);
  return alike.some((one) => isKeptOff({ ...one, anyValue }, annotation));
}

/** Whether a policy sets a startup taint of this identity again after a reboot. */
export function setsAgain({ untilReady }: Declared, taint: Taint): boolean {
  return untilReady.some((one) => one.setsAgain && identityOf(one.taint) === identityOf(taint));
}

/** Whether a policy uses the annotation with the boot of the node. */
export function usesRecord({ untilReady }: Declared): boolean {
  return untilReady.some((one) => one.setsAgain);
}

/** Whether all policies of a startup taint of this identity have given up on a node that is not ready. */
export function isGivenUp(says: Declared, taint: Taint, node: StoredNode, now: number): boolean {
  const alike = says.untilReady.filter((one) => identityOf(one.taint) === identityOf(taint));
  const deadlines = alike.map(({ removeAfterMs = Infinity }) => removeAfterMs);
  return now - waitingSince(node, setsAgain(says, taint), now) > Math.max(...deadlines);
}

function waitingSince({ createdAt = 0, bootId, startupBoot }: StoredNode, isSetAgain: boolean, now: number): number {
  if (!isSetAgain || bootId === undefined || startupBoot === undefined) return createdAt;
  // The reboot is not recorded yet.
  if (startupBoot.bootId !== bootId) return now;
  return Math.max(createdAt, startupBoot.setAt ?? 0);
}

/** The startup taints that a node has to carry once the leader has recorded its reboot, apart from those of which a policy protects a value. */
export function taintsAfterReboot(says: Declared, allowRemoval: string | undefined): Taint[] {
  const isProtected = (taint: Taint) =>
    says.untilReady.some(
      (one) => identityOf(one.taint) === identityOf(taint) && says.protectorsOf(one.taint).length > 0,
    );
  return says.untilReady
    .filter(({ setsAgain, taint }) => setsAgain && !isProtected(taint) && !isStartupKeptOff(says, taint, allowRemoval))
    .map(({ taint }) => taint);
}

/**
 * The value that a required taint of this identity gets on a running node, as its policies say it together; undefined if it is left alone.
 * Not the conflict with another writer, which is not declared.
 */
export function valueToSet(
  { required, protectorsOf, isKeptElsewhere }: Declared,
  one: Taint,
  { taints, allowRemoval }: { readonly taints: readonly Taint[]; readonly allowRemoval: string | undefined },
): string | undefined {
  const alike = required.filter(({ taint }) => identityOf(taint) === identityOf(one));
  const missing = alike.filter((each) => !isMet(each, taints) && !isKeptOff(each, allowRemoval));
  const named = (list: readonly Declaration[]) => [
    ...new Set(list.flatMap(({ taint, anyValue }) => (anyValue ? [] : (taint.value ?? '')))),
  ];
  if (missing.length === 0 || one.effect === 'NoExecute' || named(alike).length > 1) return undefined;
  const present = taints.find((each) => identityOf(each) === identityOf(one));
  const requiring = new Set(missing.map(({ policy }) => policy));
  if (present && protectorsOf(present).some((policy) => !requiring.has(policy))) return undefined;
  if (present && isKeptElsewhere(present)) return undefined;
  return named(missing)[0] ?? '';
}
