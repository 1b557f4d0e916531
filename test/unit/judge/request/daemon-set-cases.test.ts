import { expect, it } from 'vitest';
import { judgeDaemonSet, judgeRunningDaemonSet } from '../../../../src/judge/request/daemon-set.ts';
import type { Toleration } from '../../../../src/kubernetes/toleration.ts';
import { type TolerationPolicySpec, tolerationsOf } from '../../../../src/policy/toleration-policy.ts';
import { policySet } from '../../policy/policies.ts';
import { DAEMON_SET_CASES, type DaemonSetCase, viewOf } from './daemon-set-cases.ts';
import { outcomes } from './node-updates.ts';

/** What both phases make of the request, one after the other. */
function admitted({ policies, daemonSet: sent, before }: Pick<DaemonSetCase, 'policies' | 'daemonSet' | 'before'>) {
  const compiled = policySet({ toleration: policies });
  const daemonSet = viewOf(sent);
  const running = before && {
    tolerations: before.tolerations,
    sameTemplate: before.image === sent.image && before.hostNetwork === sent.hostNetwork,
  };
  const mutation = judgeDaemonSet.mutate({ daemonSet, ...(running ? { running } : {}) }, compiled);
  const tolerations = mutation.action === 'patch' ? mutation.desired.tolerations : sent.tolerations;
  const validation = judgeDaemonSet.validate({ daemonSet: { ...daemonSet, tolerations } }, compiled);
  return { mutation, validation, tolerations };
}

it.each(DAEMON_SET_CASES)('$why', ({ added, reported, ...one }) => {
  const { mutation, validation, tolerations } = admitted(one);
  expect(tolerations).toEqual([...one.daemonSet.tolerations, ...added]);
  expect(mutation.action).toBe(added.length > 0 ? 'patch' : 'allow');
  expect(outcomes(mutation).map((text) => text.split(' ')[1])).toEqual(added.map(() => 'added'));
  expect(mutation.warnings).toHaveLength(added.length);
  expect(validation.action).toBe('allow');
  expect(outcomes(validation)).toEqual(reported);
  if (reported.length === 0) expect(validation.warnings).toEqual([]);
});

/** Each toleration is required by a policy of its own. The names of the policies keep the order of the tolerations. */
function divided(policies: DaemonSetCase['policies']): DaemonSetCase['policies'] {
  return Object.fromEntries(
    Object.entries(policies).flatMap(([name, spec]) =>
      tolerationsOf(spec).map((toleration, index): [string, TolerationPolicySpec] => [
        `${name}-${index}`,
        { ...spec, tolerations: [toleration] },
      ]),
    ),
  );
}

function reversed(policies: DaemonSetCase['policies']): DaemonSetCase['policies'] {
  const names = Object.keys(policies).toReversed();
  return Object.fromEntries(
    Object.values(policies).map((spec, index) => [
      names[index],
      { ...spec, tolerations: [...tolerationsOf(spec)].toReversed() },
    ]),
  );
}

it.each(DAEMON_SET_CASES)('in any order of the required tolerations, and with any number of policies: $why', (one) => {
  const { policies, daemonSet, added, reported } = one;
  for (const alike of [reversed(policies), divided(policies), reversed(divided(policies))]) {
    const { tolerations, validation } = admitted({ ...one, policies: alike });
    const appended = tolerations.slice(daemonSet.tolerations.length);
    expect(textsOf(appended)).toEqual(textsOf(added));
    expect(outcomes(validation).map(withoutPolicy).toSorted()).toEqual(reported.map(withoutPolicy).toSorted());
  }
});

function textsOf(tolerations: readonly Toleration[]): string[] {
  return tolerations.map((toleration) => JSON.stringify(toleration)).toSorted();
}

function withoutPolicy(outcome: string): string {
  return outcome.slice(outcome.indexOf(' '));
}

function patching(policies: DaemonSetCase['policies']): DaemonSetCase['policies'] {
  return Object.fromEntries(
    Object.entries(policies).map(([name, spec]) => [
      name,
      spec.mode === 'Audit' ? spec : { ...spec, existing: 'Patch' as const },
    ]),
  );
}

it.each(DAEMON_SET_CASES.filter(({ before }) => !before))(
  'a running DaemonSet is patched as if the request created it: $why',
  ({ policies, daemonSet, added }) => {
    const decision = judgeRunningDaemonSet(viewOf(daemonSet), policySet({ toleration: patching(policies) }));
    const { tolerations } = decision.action === 'patch' ? decision.desired : daemonSet;
    expect(tolerations).toEqual([...daemonSet.tolerations, ...added]);
    expect(decision.violations).toHaveLength(added.length);
  },
);
