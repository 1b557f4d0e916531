import { describe, expect, it } from 'vitest';
import { checkFailedCalls } from '../../../src/doctor/checks/failed-calls.ts';
import { checkIgnoredDaemonSets } from '../../../src/doctor/checks/ignored-daemon-sets.ts';
import { checkLeader } from '../../../src/doctor/checks/leader.ts';
import { checkVersions } from '../../../src/doctor/checks/versions.ts';
import { readingOf } from '../../../src/doctor/facts/reading.ts';
import { daemonSet, healthyFacts, node, taintPolicy, tolerationPolicy } from './facts.ts';

describe('the leader', () => {
  const watch = { holder: 'tk-0', renewed: true, renewTime: '2026-11-21T00:00:00Z', watchedSeconds: 6 };
  it.each([
    { what: 'leads', differs: {}, state: 'ok', evidence: 'tk-0 holds Lease taintkeeper/taintkeeper and renews it' },
    {
      what: 'is silent',
      differs: { renewed: false },
      state: 'problem',
      evidence: 'held by tk-0, which has not renewed it in 6 s (last: 2026',
    },
    {
      what: 'never was',
      differs: { holder: undefined, renewed: false },
      state: 'problem',
      evidence: 'no replica has ever led',
    },
    {
      what: 'gave it up',
      differs: { holder: '', renewed: false },
      state: 'problem',
      evidence: 'no replica has taken it in 6 s',
    },
  ])('$what', ({ differs, state, evidence }) => {
    const results = checkLeader(healthyFacts({ lease: readingOf({ ...watch, ...differs }) }));
    expect([results].flat()).toEqual([expect.objectContaining({ state, evidence: expect.stringContaining(evidence) })]);
  });
});

describe('failed calls', () => {
  const sample = (metric: string, labels: string, value: string) =>
    `apiserver_admission_webhook_${metric}{${labels}} ${value}\n`;
  const ours = 'name="protect.taintkeeper.dev",operation="UPDATE"';
  const start = '# TYPE process_start_time_seconds gauge\nprocess_start_time_seconds 1.7953056e+09\n';

  it.each([
    { what: 'none', text: start, state: 'ok', evidence: /no failed call since 2026-11-22T/ },
    {
      what: 'denials are what policies are for',
      text: sample('rejection_count', `error_type="no_error",${ours},rejection_code="403",type="validating"`, '7'),
      state: 'ok',
      evidence: /refusals by policies: 7$/,
    },
    {
      what: 'of others',
      text: sample('fail_open_count', 'name="check.example.com",type="validating"', '9'),
      state: 'ok',
      evidence: /no failed call/,
    },
    {
      what: 'of ours',
      text:
        sample('fail_open_count', 'name="report.taintkeeper.dev",type="validating"', '3') +
        sample('fail_open_count', 'name="restore.taintkeeper.dev",type="admit"', '2e+00') +
        sample(
          'rejection_count',
          `error_type="calling_webhook_error",${ours},rejection_code="0",type="validating"`,
          '1',
        ),
      state: 'note',
      evidence:
        /: 5 requests passed without an answer \(report 3, restore 2\); 1 request was refused because the webhook could not be called \(protect 1\)/,
    },
  ])('$what', ({ text, state, evidence }) => {
    const results = checkFailedCalls(healthyFacts({ metrics: readingOf(text) }));
    expect(results).toEqual([expect.objectContaining({ state, evidence: expect.stringMatching(evidence) })]);
  });
});

describe('versions', () => {
  const kubelet = (kubeletVersion: string) => ({ ...node('n1'), kubeletVersion });
  it.each([
    { version: 'v1.36.3', kubelet: 'v1.36.3', state: 'ok', evidence: /API server v1\.36\.3/ },
    { version: 'v1.30.4-gke.1', kubelet: 'v1.28.1', state: 'ok', evidence: /v1\.30\.4-gke\.1/ },
    { version: 'v1.30+', kubelet: 'v1.30.0', state: 'ok', evidence: /v1\.30\+/ },
    { version: 'v1.29.9', kubelet: 'v1.29.9', state: 'problem', evidence: /older than 1\.30/ },
    {
      version: 'v1.34.2',
      kubelet: 'v1.35.0',
      state: 'note',
      evidence: /^1 kubelet is too far from API server 1\.34, such as v1\.35\.0 on n1/,
    },
    { version: 'v1.36.3', kubelet: 'v1.32.9', state: 'note', evidence: /v1\.32\.9 on n1/ },
    { version: 'v1.36.3', kubelet: '', state: 'ok', evidence: /API server/ },
    { version: 'devel', kubelet: 'v1.36.3', state: 'skipped', evidence: /reports version devel/ },
  ])('$version with kubelet "$kubelet": $state', ({ version, kubelet: theirs, state, evidence }) => {
    const results = checkVersions(healthyFacts({ version: readingOf(version), nodes: readingOf([kubelet(theirs)]) }));
    expect(results).toEqual([expect.objectContaining({ state, evidence: expect.stringMatching(evidence) })]);
  });
});

describe('ignored DaemonSets', () => {
  const ignored = { annotations: { 'taintkeeper.dev/ignore': 'true' } };
  const policies = readingOf([taintPolicy('t', {}), tolerationPolicy('p', { namespaces: ['kube-system'] })]);
  it.each([
    { what: 'none', sets: [daemonSet('kube-system/a')], state: 'ok', evidence: /none/ },
    {
      what: 'one that no policy is for',
      sets: [daemonSet('other/a', ignored)],
      state: 'ok',
      evidence: /none/,
    },
    { what: 'one', sets: [daemonSet('kube-system/a', ignored)], state: 'note', evidence: /ignore: kube-system\/a$/ },
  ])('$what', ({ sets, state, evidence }) => {
    const results = checkIgnoredDaemonSets(healthyFacts({ policies, daemonSets: readingOf(sets) }));
    expect(results).toEqual([expect.objectContaining({ state, evidence: expect.stringMatching(evidence) })]);
  });
});
