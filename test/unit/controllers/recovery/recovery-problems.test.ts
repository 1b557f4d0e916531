import { expect, it } from 'vitest';
import { createRecoveryProblems } from '../../../../src/controllers/recovery/recovery-problems.ts';

it('what is over and begins anew has the place that it had', () => {
  const problems = createRecoveryProblems();
  const policy = 'daemons';
  const note = (name: string, reason: 'PodFailsAgain' | 'RecoveryFailed', now: number) =>
    problems.note({ daemonSet: `kube-system/${name}`, node: 'n1', policy, reason, detail: `pod of ${name}` }, now);
  note('a', 'PodFailsAgain', 1);
  note('b', 'RecoveryFailed', 1);
  note('c', 'RecoveryFailed', 1);
  const before = problems.current();
  for (const name of ['a', 'b']) {
    for (const now of [2, 60_000]) problems.endRun(`kube-system/${name}`, now);
  }
  expect(problems.current()).toHaveLength(1);
  note('b', 'RecoveryFailed', 70_000);
  note('a', 'PodFailsAgain', 70_000);
  expect(problems.current()).toEqual(before);
});
