import { describe, expect, it, onTestFinished, vi } from 'vitest';
import { createMetrics } from '../../../src/replica/metrics.ts';
import { BODY_LIMIT_BYTES } from '../../../src/server/json-body.ts';
import { eventually } from '../eventually.ts';
import {
  CONTROL_PLANE_TAINT,
  daemonSetCreationReview,
  daemonSetObject,
  harmlessReview,
  nodeUpdateReview,
  TOLERATION_POLICY_YAML,
  taintPolicyYaml,
  taintRemovalReview,
} from '../reviews.ts';
import { startServer } from './running-server.ts';

type Server = Awaited<ReturnType<typeof startServer>>;

/** The samples of taintkeeper's own metrics that are not 0, as `/metrics` shows them; how long things took is left out. */
async function samples({ metrics }: Pick<Server, 'metrics'>): Promise<string[]> {
  const lines = (await metrics.registry.metrics()).split('\n');
  return lines.filter(
    (line) => line.startsWith('taintkeeper_') && !line.endsWith(' 0') && !/_(sum|bucket)\b|build_info/.test(line),
  );
}

const RESTORE_AND_TOLERATE = `${taintPolicyYaml('Restore')}---\n${TOLERATION_POLICY_YAML}`;

describe('after requests, the counters say', () => {
  it.each<{ why: string; policies: string; path: string; body: unknown; expected: string[] }>([
    {
      why: 'a denial',
      policies: taintPolicyYaml('Deny'),
      path: '/validate',
      body: taintRemovalReview(),
      expected: [
        'taintkeeper_admission_requests_total{path="validate",result="denied"} 1',
        'taintkeeper_admission_duration_seconds_count{path="validate"} 1',
        'taintkeeper_decisions_total{kind="Node",policy="keep-deny",mode="Deny",change="Removal",result="Denied",audit="false"} 1',
      ],
    },
    {
      why: 'a restored taint',
      policies: RESTORE_AND_TOLERATE,
      path: '/mutate',
      body: taintRemovalReview(),
      expected: [
        'taintkeeper_admission_requests_total{path="mutate",result="patched"} 1',
        'taintkeeper_admission_duration_seconds_count{path="mutate"} 1',
        'taintkeeper_decisions_total{kind="Node",policy="keep-restore",mode="Restore",change="Removal",result="Restored",audit="false"} 1',
      ],
    },
    {
      why: 'an audited one',
      policies: taintPolicyYaml('Audit'),
      path: '/validate',
      body: taintRemovalReview(),
      expected: [
        'taintkeeper_admission_requests_total{path="validate",result="allowed"} 1',
        'taintkeeper_admission_duration_seconds_count{path="validate"} 1',
        'taintkeeper_decisions_total{kind="Node",policy="keep-audit",mode="Audit",change="Removal",result="Audited",audit="false"} 1',
      ],
    },
    {
      why: 'two added tolerations',
      policies: RESTORE_AND_TOLERATE,
      path: '/mutate',
      body: daemonSetCreationReview([]),
      expected: [
        'taintkeeper_admission_requests_total{path="mutate",result="patched"} 1',
        'taintkeeper_admission_duration_seconds_count{path="mutate"} 1',
        'taintkeeper_decisions_total{kind="DaemonSet",policy="cni",mode="Mutate",change="Missing",result="Added",audit="false"} 2',
      ],
    },
    {
      why: 'an update without violation',
      policies: RESTORE_AND_TOLERATE,
      path: '/validate',
      body: harmlessReview(),
      expected: [
        'taintkeeper_admission_requests_total{path="validate",result="allowed"} 1',
        'taintkeeper_admission_duration_seconds_count{path="validate"} 1',
      ],
    },
    {
      why: 'a review that cannot be read',
      policies: RESTORE_AND_TOLERATE,
      path: '/validate',
      body: {},
      expected: [
        'taintkeeper_admission_requests_total{path="validate",result="malformed"} 1',
        'taintkeeper_admission_duration_seconds_count{path="validate"} 1',
      ],
    },
    {
      why: 'a body that is not JSON',
      policies: RESTORE_AND_TOLERATE,
      path: '/validate?timeout=2s',
      body: '{',
      expected: ['taintkeeper_admission_requests_total{path="validate",result="malformed"} 1'],
    },
    {
      why: 'a body that is too long',
      policies: RESTORE_AND_TOLERATE,
      path: '/mutate',
      body: Buffer.alloc(BODY_LIMIT_BYTES + 1, ' '),
      expected: ['taintkeeper_admission_requests_total{path="mutate",result="malformed"} 1'],
    },
    {
      why: 'an object that cannot be read',
      policies: RESTORE_AND_TOLERATE,
      path: '/mutate',
      body: nodeUpdateReview([], 7),
      expected: [
        'taintkeeper_admission_requests_total{path="mutate",result="malformed"} 1',
        'taintkeeper_admission_duration_seconds_count{path="mutate"} 1',
      ],
    },
    {
      why: 'a dry run, and nothing but that',
      policies: taintPolicyYaml('Deny'),
      path: '/validate',
      body: taintRemovalReview({ dryRun: true }),
      expected: ['taintkeeper_admission_dry_runs_total{path="validate"} 1'],
    },
    {
      why: 'a dry run with an object that cannot be read, and nothing but that',
      policies: taintPolicyYaml('Deny'),
      path: '/validate',
      body: nodeUpdateReview([], 7, { dryRun: true }),
      expected: ['taintkeeper_admission_dry_runs_total{path="validate"} 1'],
    },
  ])('$why', async ({ policies, path, body, expected }) => {
    const server = await startServer({ policies });
    await server.post(body, { path });

    // The end of the connection's part in a request is seen a moment after its answer.
    await eventually(async () => expect(await samples(server)).toEqual(expected));
  });
});

it('a dry run gets the answer that the real request would get', async () => {
  const server = await startServer();

  expect(await server.review(taintRemovalReview({ dryRun: true }))).toEqual(await server.review(taintRemovalReview()));
});

it('policies and certificates show what is in force', async () => {
  const metrics = createMetrics('1.2.3');
  metrics.policiesLoaded({ TaintPolicy: 2, TolerationPolicy: 1, TolerationRestriction: 4, RecoveryPolicy: 3 });
  metrics.certificateServed('serving', new Date('2026-04-01T00:00:00Z'));
  metrics.certificateServed('ca', new Date('2036-01-01T00:00:00Z'));

  expect(await samples({ metrics })).toEqual([
    'taintkeeper_policies{kind="TaintPolicy"} 2',
    'taintkeeper_policies{kind="TolerationPolicy"} 1',
    'taintkeeper_policies{kind="TolerationRestriction"} 4',
    'taintkeeper_policies{kind="RecoveryPolicy"} 3',
    `taintkeeper_certificate_expiry_timestamp_seconds{certificate="serving"} ${Date.parse('2026-04-01T00:00:00Z') / 1000}`,
    `taintkeeper_certificate_expiry_timestamp_seconds{certificate="ca"} ${Date.parse('2036-01-01T00:00:00Z') / 1000}`,
  ]);
  expect(await metrics.registry.metrics()).toContain('taintkeeper_build_info{version="1.2.3"} 1');
});

it('a new process counts no request that it could not judge, so that the first one is an increase', async () => {
  const text = await createMetrics('1.2.3').registry.getSingleMetricAsString('taintkeeper_admission_requests_total');
  expect(text.split('\n').filter((line) => !line.startsWith('#'))).toEqual([
    'taintkeeper_admission_requests_total{path="mutate",result="malformed"} 0',
    'taintkeeper_admission_requests_total{path="mutate",result="error"} 0',
    'taintkeeper_admission_requests_total{path="validate",result="malformed"} 0',
    'taintkeeper_admission_requests_total{path="validate",result="error"} 0',
  ]);
});

it('whether policy files were loaded is known only of policies from files', async () => {
  const metrics = createMetrics('1.2.3');
  const loaded = async () =>
    (await metrics.registry.metrics()).split('\n').filter((line) => line.startsWith('taintkeeper_policy_load_success'));
  expect(await loaded()).toEqual([]);
  metrics.policiesLoaded({ TaintPolicy: 2, TolerationPolicy: 1, TolerationRestriction: 4, RecoveryPolicy: 3 });
  expect(await loaded()).toEqual([]);

  metrics.policyFilesLoaded(true);
  expect(await loaded()).toEqual(['taintkeeper_policy_load_success 1']);
  metrics.policyFilesLoaded(false);
  expect(await loaded()).toEqual(['taintkeeper_policy_load_success 0']);
  expect(await metrics.registry.metrics()).toContain('taintkeeper_policies{kind="TaintPolicy"} 2');
});

it('no name that comes with a request becomes a label: as many series after a thousand of them as after one', async () => {
  const server = await startServer({ policies: RESTORE_AND_TOLERATE });
  const strange = async (n: number) => {
    const request = { uid: `u${n}`, name: `node-${n}`, userInfo: { username: `user-${n}`, groups: [`group-${n}`] } };
    const taint = { ...CONTROL_PLANE_TAINT, value: `v${n}` };
    const object = daemonSetObject([], { name: `ds-${n}` });
    const answers = await Promise.all([
      server.post(nodeUpdateReview([taint], [{ key: `k${n}`, effect: `E${n}` }], request), { path: '/mutate' }),
      server.post(daemonSetCreationReview([], { ...request, object }), { path: `/mutate?${n}` }),
      server.post(
        harmlessReview({ operation: `OP${n}`, resource: { group: `g${n}`, version: 'v1', resource: `r${n}` } }),
      ),
      server.post({ apiVersion: `a${n}` }),
      server.post('', { path: `/${n}`, method: 'PUT', headers: { 'content-type': `text/${n}` } }),
    ]);
    expect(answers.map(({ status }) => status)).toEqual([200, 200, 200, 400, 404]);
  };
  const series = async () => (await samples(server)).map((line) => line.slice(0, line.lastIndexOf(' ')));
  await strange(0);
  const before = await series();
  for (let n = 1; n <= 200; n++) await strange(n);

  expect(await series()).toEqual(before);
  expect(before).toContain('taintkeeper_admission_requests_total{path="mutate",result="patched"}');
});

it('the metrics of a server have no timer, which would outlive it', () => {
  vi.useFakeTimers();
  onTestFinished(() => void vi.useRealTimers());
  createMetrics('1.2.3');
  expect(vi.getTimerCount()).toBe(0);
});
