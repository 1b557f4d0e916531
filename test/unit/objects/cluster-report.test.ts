import { describe, expect, it } from 'vitest';
import { type Checked, clusterReport, MAX_RESULTS, reportName, timed } from '../../../src/objects/cluster-report.ts';
import type { PolicyStatus } from '../../../src/policy/policy-status.ts';

const POLICY = { kind: 'TaintPolicy', name: 'gpu-pool', uid: 'u1' } as const;
const AT = '2026-11-21T00:00:00Z';

function node(name: string, fault?: string): Checked {
  return {
    subject: { apiVersion: 'v1', kind: 'Node', name, uid: `uid-${name}` },
    fault: fault === undefined ? undefined : () => fault,
  };
}

function status(mode: string | undefined, ...conditions: [type: string, status: 'True' | 'False', reason: string][]) {
  return {
    ...(mode === undefined ? {} : { mode }),
    conditions: conditions.map(([type, holds, reason]) => ({
      ...{ type, status: holds, reason },
      message: `because of ${reason}`,
      lastTransitionTime: AT,
    })),
  } satisfies PolicyStatus;
}

const READY = ['Ready', 'True', 'InForce'] as const;

function resultsOf(found: PolicyStatus, checked: readonly Checked[] | undefined) {
  const { results, summary } = clusterReport({ policy: POLICY, status: found, checked });
  return {
    results: results.map(({ result, severity, scored, resources, message }) =>
      [result, severity, scored ? 'scored' : 'not scored', resources[0]?.kind, resources[0]?.name, message].join(' | '),
    ),
    summary,
  };
}

describe('the report of a policy', () => {
  it('is one of OpenReports, with all that tools ask for', () => {
    const report = clusterReport({
      policy: POLICY,
      status: status('Restore', [...READY]),
      checked: [node('n2'), node('n1', 'it lacks a=b:NoSchedule (spec.taints[0])')],
    });
    const about = { source: 'taintkeeper', policy: 'gpu-pool', rule: 'taints', category: 'Node taints', scored: true };
    expect(timed(report, undefined, new Date(AT))).toEqual({
      apiVersion: 'openreports.io/v1alpha1',
      kind: 'ClusterReport',
      metadata: {
        name: 'taintkeeper-taintpolicy-gpu-pool',
        labels: { 'app.kubernetes.io/managed-by': 'taintkeeper', 'taintkeeper.dev/policy-uid': 'u1' },
      },
      source: 'taintkeeper',
      configuration: { limits: { maxResults: MAX_RESULTS } },
      summary: { error: 0, fail: 1, warn: 0, skip: 0, pass: 1 },
      results: [
        {
          ...about,
          result: 'fail',
          severity: 'high',
          resources: [{ apiVersion: 'v1', kind: 'Node', name: 'n1', uid: 'uid-n1' }],
          message: 'it lacks a=b:NoSchedule (spec.taints[0])',
          properties: { mode: 'Restore' },
          timestamp: { seconds: 1_795_219_200, nanos: 0 },
        },
        {
          ...about,
          result: 'pass',
          severity: 'info',
          resources: [{ apiVersion: 'v1', kind: 'Node', name: 'n2', uid: 'uid-n2' }],
          message: 'it is as the policy declares',
          properties: { mode: 'Restore' },
          timestamp: { seconds: 1_795_219_200, nanos: 0 },
        },
      ],
    });
  });

  it.each<{ why: string; found: PolicyStatus; checked: Checked[] | undefined; expected: string[] }>([
    {
      why: 'what a trial finds differs from the policy as well, and is less urgent',
      found: status('Audit', [...READY]),
      checked: [node('n1', 'it lacks x')],
      expected: ['fail | medium | scored | Node | n1 | it lacks x'],
    },
    {
      why: 'a policy that selects nothing was not applicable',
      found: status('Deny', [...READY]),
      checked: [],
      expected: ['skip | info | not scored | TaintPolicy | gpu-pool | it selects no node'],
    },
    {
      why: 'a policy that was never valid could not be evaluated',
      found: status(undefined, ['Ready', 'False', 'Invalid']),
      checked: undefined,
      expected: ['error | high | scored | TaintPolicy | gpu-pool | because of Invalid'],
    },
    {
      why: 'one that is not valid any more is evaluated as it is in force',
      found: status('Deny', ['Ready', 'False', 'EarlierInForce']),
      checked: [node('n1')],
      expected: [
        'error | high | scored | TaintPolicy | gpu-pool | because of EarlierInForce',
        'pass | info | scored | Node | n1 | it is as the policy declares',
      ],
    },
    {
      why: 'a policy that is not followed in all is no object that differs',
      found: status('Deny', ['Ready', 'False', 'NotRegistered'], ['Stalled', 'True', 'KeyLooksMisspelled']),
      checked: [node('n1')],
      expected: [
        'warn | medium | not scored | TaintPolicy | gpu-pool | because of NotRegistered',
        'warn | medium | not scored | TaintPolicy | gpu-pool | because of KeyLooksMisspelled',
        'pass | info | scored | Node | n1 | it is as the policy declares',
      ],
    },
  ])('$why', ({ found, checked, expected }) => {
    const { results, summary } = resultsOf(found, checked);
    expect(results).toEqual(expected);
    for (const [result, count] of Object.entries(summary)) {
      expect(expected.filter((text) => text.startsWith(`${result} `))).toHaveLength(count);
    }
  });

  it('counts all, lists a hundred with what is wrong first, and says how many it leaves out', () => {
    const names = Array.from({ length: 5_000 }, (_, index) => `n${index}`);
    const checked = names.map((name, index) => node(name, index >= 4_990 ? 'it lacks x' : undefined));
    const report = clusterReport({ policy: POLICY, status: status('Restore', [...READY]), checked });
    expect(report.results).toHaveLength(100);
    expect(report.results.slice(0, 11).map(({ result }) => result)).toEqual([...Array(10).fill('fail'), 'pass']);
    expect(report.summary).toEqual({ error: 0, fail: 10, warn: 0, skip: 0, pass: 4_990 });
    expect(report.metadata.annotations).toEqual({ 'taintkeeper.dev/omitted-results': '4900' });
    expect(JSON.stringify(timed(report, undefined, new Date(AT))).length).toBeLessThan(60_000);
  });

  it('keeps the time of what it has said before', () => {
    const at = (second: number) => new Date(second * 1_000);
    const report = (...checked: Checked[]) =>
      clusterReport({ policy: POLICY, status: status('Restore', [...READY]), checked });
    const first = timed(report(node('n1', 'it lacks x'), node('n2')), undefined, at(1));
    const same = timed(report(node('n1', 'it lacks x'), node('n2')), first, at(2));
    expect(same).toEqual(first);
    const later = timed(report(node('n1'), node('n2'), node('n3', 'it lacks x')), first, at(3));
    expect(later.results.map(({ resources, timestamp }) => [resources[0]?.name, timestamp.seconds])).toEqual([
      ['n3', 3],
      ['n1', 3],
      ['n2', 1],
    ]);
  });

  it('has a name that an object may have, however long that of the policy is', () => {
    const name = (length: number) => reportName({ kind: 'TolerationPolicy', name: `${'a.'.repeat(length / 2)}a` });
    expect(name(20)).toBe(`taintkeeper-tolerationpolicy-${'a.'.repeat(10)}a`);
    for (const length of [230, 240, 252]) {
      expect(name(length).length).toBeLessThanOrEqual(253);
      expect(name(length)).toMatch(/^[a-z0-9]([-a-z0-9]*[a-z0-9])?(\.[a-z0-9]([-a-z0-9]*[a-z0-9])?)*$/);
    }
    expect(name(240)).not.toBe(name(242));
  });
});
