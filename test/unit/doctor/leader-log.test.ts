import { expect, it } from 'vitest';
import type { CheckName } from '../../../src/doctor/check.ts';
import { checkLeader } from '../../../src/doctor/checks/leader.ts';
import { CHECKS } from '../../../src/doctor/checks.ts';
import type { Facts } from '../../../src/doctor/facts/facts.ts';
import { type Reading, readingOf } from '../../../src/doctor/facts/reading.ts';
import type { LeaseWatch } from '../../../src/doctor/facts/watch-lease.ts';
import { certificates, healthyFacts, INSTALLATION, unseen, webhook } from './facts.ts';

const { ca } = await certificates();
const passed = readingOf({ outcome: 'passed', what: 'a removal' } as const);

/** The checks that refer to the leader's log, with facts that make them do so. */
const REFERRING: readonly { check: CheckName; facts: Partial<Facts> }[] = [
  { check: 'registration', facts: { webhooks: readingOf([]) } },
  { check: 'admission', facts: { admission: passed } },
];

const DISTRUSTED = {
  check: 'caBundle',
  facts: { webhooks: readingOf([webhook('protect.taintkeeper.dev', ca.cert)]) },
} as const;

const OF_LEADER = 'kubectl logs --namespace taintkeeper taintkeeper-b';
const OF_ALL =
  'kubectl logs --namespace taintkeeper --selector=app.kubernetes.io/name=taintkeeper,app.kubernetes.io/component=webhook --prefix --tail=-1';

function watched(holder: string, renewed = true): Reading<LeaseWatch> {
  return readingOf({ holder, renewed, renewTime: undefined, watchedSeconds: 6 });
}

const LED = {
  why: 'kubectl shows one pod of a Deployment, often not the leader',
  lease: watched('taintkeeper-b_0b6f'),
  command: OF_LEADER,
};

it.each([
  // Without a leader, the remedy is another one.
  { ...DISTRUSTED, ...LED },
  ...REFERRING.flatMap((one) =>
    [
      LED,
      { why: 'the pod of a killed leader may not exist', lease: watched('taintkeeper-b_0b6f', false), command: OF_ALL },
      { why: 'no replica leads, and each may have the reason', lease: watched('', false), command: OF_ALL },
      { why: 'the user may not read the Lease', lease: unseen('you may not get leases'), command: OF_ALL },
      { why: 'the holder cannot be a pod', lease: watched('$(reboot)_0b6f'), command: OF_ALL },
    ].map((row) => ({ ...one, ...row })),
  ),
])('the log that $check refers to: $why', ({ check, facts, lease, command }) => {
  const { run } = CHECKS.find(({ name }) => name === check) ?? {};
  const found = [run?.(healthyFacts({ installation: INSTALLATION, ...facts, lease })) ?? []].flat();
  expect(found.map(({ remedy }) => remedy)).toEqual([expect.stringMatching(endingWith(command))]);
});

it.each([
  { why: 'its pod was killed', lease: watched('taintkeeper-b_0b6f', false) },
  { why: 'it has stopped', lease: watched('', false) },
])('without a leader, the remedy is to wait, and then the logs of all replicas: $why', ({ lease }) => {
  const [found] = checkLeader(healthyFacts({ installation: INSTALLATION, lease }));
  expect(found?.remedy).toBe(
    `after a crash, a new leader takes up to 17 s: run doctor again. If no replica leads then, their logs say why: ${OF_ALL} | grep -i lead`,
  );
});

/** The end of a remedy is a command, or commands: it is copied from the first of them. */
function endingWith(command: string): RegExp {
  return new RegExp(`: ${RegExp.escape(command)}($|; kubectl )`);
}
