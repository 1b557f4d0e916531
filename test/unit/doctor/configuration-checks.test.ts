import { describe, expect, it } from 'vitest';
import { CHECKS } from '../../../src/doctor/checks.ts';
import type { Facts } from '../../../src/doctor/facts/facts.ts';
import { readingOf } from '../../../src/doctor/facts/reading.ts';
import {
  daemonSet,
  healthyFacts,
  othersWebhook,
  policyObject,
  READY,
  replica,
  run,
  taintPolicy,
  unseen,
} from './facts.ts';

const REFUSED = { kind: 'refused', message: 'connect ECONNREFUSED' } as const;
/** A problem of the network: no answer. */
const ELSEWHERE: Partial<Facts> = {
  replicas: [
    replica('a', { outcome: 'failed', fault: REFUSED }, { reached: readingOf({ outcome: 'failed', fault: REFUSED }) }),
  ],
};
const DEAD_LEASE = readingOf({
  holder: 'taintkeeper-0',
  renewed: false,
  renewTime: '2026-11-21T00:00:00Z',
  watchedSeconds: 6,
});
const LACKING = readingOf({
  user: 'system:serviceaccount:taintkeeper:taintkeeper',
  reviewed: 50,
  missingNeeded: [
    {
      group: 'coordination.k8s.io',
      resource: 'leases',
      name: 'taintkeeper',
      namespace: 'taintkeeper',
      verb: 'update',
    },
  ],
  missingOptional: [],
});
const NOT_PERMITTED = readingOf({
  user: 'u',
  reviewed: 50,
  missingNeeded: [],
  missingOptional: ['deletePods' as const],
});
const RECOVERY = policyObject(
  'RecoveryPolicy',
  'reboots',
  { daemonSets: { namespaces: ['kube-system'] } },
  {
    status: {
      ...READY,
      conditions: [
        ...(READY.conditions ?? []),
        {
          ...{ type: 'Stalled', status: 'True', reason: 'NotPermitted', message: 'delete pods', observedGeneration: 1 },
          lastTransitionTime: '2026-11-21T00:00:00Z',
        },
      ],
    },
  },
);
const OTHERS = readingOf([
  { resource: 'validatingwebhookconfigurations', name: 'c', webhooks: [othersWebhook()] } as const,
]);
const STALE = readingOf([taintPolicy('gpu', {}, { generation: 2 })]);

const CONFIGURATION_CHECKS = CHECKS.filter(({ area }) => area === 'configuration').map(({ name }) => name);

function states(facts: Facts): Record<string, string> {
  const others = run(CONFIGURATION_CHECKS, facts).filter(({ state }) => state !== 'ok');
  return Object.fromEntries(others.map(({ name, state }) => [name, state]));
}

it('finds nothing where all is well', () => {
  expect(states(healthyFacts())).toEqual({});
});

describe('only causes are problems', () => {
  it.each<{ what: string; facts: Partial<Facts>; elsewhere?: Partial<Facts>; expected: Record<string, string> }>([
    {
      what: 'no leader, because no replica answers',
      facts: { lease: DEAD_LEASE, policies: STALE },
      elsewhere: ELSEWHERE,
      expected: { policies: 'skipped', leader: 'skipped' },
    },
    {
      what: 'no leader, as it may not write the Lease',
      facts: { lease: DEAD_LEASE, policies: STALE, rights: LACKING },
      expected: { policies: 'skipped', rights: 'problem', leader: 'skipped' },
    },
    {
      what: 'a policy that waits for a right',
      facts: {
        policies: readingOf([RECOVERY]),
        rights: NOT_PERMITTED,
        daemonSets: readingOf([daemonSet('kube-system/a')]),
      },
      expected: { policies: 'skipped', rights: 'problem' },
    },
    {
      what: 'no leader, which a right that a policy waits for has nothing to do with',
      facts: {
        lease: DEAD_LEASE,
        policies: readingOf([RECOVERY]),
        rights: NOT_PERMITTED,
        daemonSets: readingOf([daemonSet('kube-system/a')]),
      },
      expected: { policies: 'skipped', rights: 'problem', leader: 'problem' },
    },
    {
      what: 'a status that is behind, because no replica leads',
      facts: { lease: DEAD_LEASE, policies: STALE },
      expected: { policies: 'skipped', leader: 'problem' },
    },
    {
      what: 'a status that is behind, although a replica leads',
      facts: { policies: STALE },
      expected: { policies: 'problem' },
    },
    {
      what: 'a policy that is not valid, whatever else there is',
      facts: { policies: readingOf([taintPolicy('gpu', { taints: [] })]) },
      elsewhere: ELSEWHERE,
      expected: { policies: 'problem' },
    },
    {
      what: 'a status that is behind, as a webhook of others refuses what the leader writes',
      facts: { policies: STALE, configurations: OTHERS },
      expected: { policies: 'skipped', 'other webhooks': 'problem' },
    },
    {
      what: 'a webhook of others, next to a problem elsewhere',
      facts: { configurations: OTHERS },
      elsewhere: ELSEWHERE,
      expected: { 'other webhooks': 'problem' },
    },
  ])('$what', ({ facts, elsewhere = {}, expected }) => {
    expect(states(healthyFacts({ ...facts, ...elsewhere }))).toEqual(expected);
  });
});

it('what may not be read is skipped, and said so; the definitions of policies that are not there are a problem', () => {
  const no = unseen('GET /apis/x: 403 Forbidden', 403);
  const facts = {
    policies: no,
    nodes: no,
    daemonSets: no,
    webhooks: no,
    metadataProtection: no,
    configurations: no,
    rights: no,
    lease: no,
    version: no,
    metrics: no,
  };
  const results = run(CONFIGURATION_CHECKS, healthyFacts(facts));
  expect(new Set(results.map(({ state }) => state))).toEqual(new Set(['skipped']));
  expect(results.every(({ evidence }) => evidence.includes('403 Forbidden'))).toBe(true);
  expect(states(healthyFacts({ policies: unseen('404', 404) })).policies).toBe('problem');
});

it('every result is of this area, and in one line', () => {
  const policy = taintPolicy('gpu', { mode: 'Nonsense\u001b[31m\n' });
  for (const { area, evidence } of run(CONFIGURATION_CHECKS, healthyFacts({ policies: readingOf([policy]) }))) {
    expect(area).toBe('configuration');
    expect(evidence).toMatch(/^[^\p{Cc}]+$/u);
  }
});
