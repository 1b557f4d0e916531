import { expect, it, onTestFinished } from 'vitest';
import type { ApiClient, RequestOptions } from '../../../../src/cluster/client/api-client.ts';
import { ApiError } from '../../../../src/cluster/client/api-error.ts';
import type { PolicyObject } from '../../../../src/cluster/policy-object.ts';
import { CLUSTER_REPORTS, reportWriter } from '../../../../src/controllers/status/cluster-reports.ts';
import type { Evaluation } from '../../../../src/controllers/status/evaluate-policies.ts';
import { nodeFindings } from '../../../../src/judge/findings.ts';
import { NOTHING_RECORDED } from '../../../../src/judge/node-record.ts';
import type { NodeWithRecord } from '../../../../src/judge/node-view.ts';
import type { ClusterReport } from '../../../../src/objects/cluster-report.ts';
import { createSubject } from '../../../../src/runtime/source.ts';
import { captureLog } from '../../captured-log.ts';
import { policySet } from '../../policy/policies.ts';

const TAINT = { key: 'dedicated', value: 'gpu', effect: 'NoSchedule', ensure: 'Always' } as const;
const NODE: NodeWithRecord = {
  ...{ name: 'n1', labels: {}, taints: [], allowRemoval: undefined },
  ...NOTHING_RECORDED,
};

/** An API server with ClusterReports in it, and one run of the writer after the other. */
function rig(names: readonly string[]) {
  const reports = new Map<string, ClusterReport & { metadata: { uid: string; resourceVersion: string } }>();
  const calls: string[] = [];
  const state = {
    served: true,
    permitted: true as boolean | undefined,
    refused: '',
    names,
    beforePost: () => {},
    second: 1,
    version: 1,
  };
  const { log, lines } = captureLog();
  const { taintPolicies } = policySet({
    taint: Object.fromEntries(names.map((name) => [name, { mode: 'Restore', taints: [TAINT] }])),
  });
  const client = {
    now: () => new Date(state.second++ * 1_000),
    async request(method: string, path: string, { body, query = {} }: RequestOptions = {}) {
      const fail = (status: number) => new ApiError(method, path, status, '', 'no');
      if (path.includes('/clusterroles/')) return { metadata: { name: 'taintkeeper', uid: 'role' } };
      if (!state.served) throw fail(404);
      if (method === 'GET') {
        const items = [...reports.values()].filter(
          ({ metadata: { name, labels } }) =>
            (labels['app.kubernetes.io/managed-by'] === 'taintkeeper') ===
              !String(query.labelSelector).includes('!=') &&
            (!query.fieldSelector || query.fieldSelector === `metadata.name=${name}`),
        );
        return { metadata: { resourceVersion: '1' }, items: structuredClone(items) };
      }
      const report = body as ClusterReport & { metadata: { uid: string; resourceVersion: string } };
      const name = method === 'POST' ? report.metadata.name : path.slice(CLUSTER_REPORTS.length + 1);
      calls.push(`${method} ${name.replace('taintkeeper-taintpolicy-', '')}`);
      if (name.endsWith(state.refused) && state.refused) throw fail(422);
      state.beforePost();
      if (method === 'POST' && reports.has(name)) throw fail(409);
      if (method === 'DELETE') reports.delete(name);
      else
        reports.set(name, {
          ...report,
          metadata: { ...report.metadata, uid: name, resourceVersion: `${++state.version}` },
        });
    },
  };
  const evaluation = (): Evaluation => ({
    selected: new Map(taintPolicies.map((own) => [own, [NODE]])),
    ...{ daemonSets: [], pods: [], problems: [] },
    policies: state.names.map((name) => {
      const own = taintPolicies.find((one) => one.name === name);
      const violators = own ? nodeFindings(own, [NODE], []).violators : [];
      const policy = { kind: 'TaintPolicy', name, uid: `uid-${name}` } as PolicyObject;
      return { policy, own, status: { mode: 'Restore' }, violators };
    }),
  });
  const options = {
    client: client as unknown as ApiClient,
    policies: { objects: () => state.names.map((name) => ({ uid: `uid-${name}` })) },
    nodes: { get: (name: string) => ({ uid: `uid-of-${name}` }) },
    daemonSets: { get: () => undefined },
    rights: { permits: () => state.permitted, changes: createSubject() },
    ownerClusterRole: 'taintkeeper',
  };
  const run = reportWriter(options, evaluation, log);
  return {
    state,
    reports,
    async run(): Promise<string[]> {
      calls.length = 0;
      await run();
      return calls;
    },
    calls,
    messages: () => lines().map(({ msg }) => msg),
  };
}

it('writes a report for each policy, skips unchanged ones, and deletes the report of a deleted policy', async () => {
  const { run, state, reports } = rig(['a', 'b']);
  expect(await run()).toEqual(['POST a', 'POST b']);
  expect(reports.get('taintkeeper-taintpolicy-a')).toMatchObject({
    metadata: { ownerReferences: [{ kind: 'ClusterRole', name: 'taintkeeper', uid: 'role' }] },
    summary: { fail: 1, pass: 0 },
    results: [
      {
        result: 'fail',
        message: 'it lacks dedicated=gpu:NoSchedule (spec.taints[0])',
        resources: [{ kind: 'Node', name: 'n1', uid: 'uid-of-n1' }],
      },
    ],
  });
  expect(await run()).toEqual([]);
  state.names = ['b'];
  expect(await run()).toEqual(['DELETE a']);
  expect([...reports.keys()]).toEqual(['taintkeeper-taintpolicy-b']);
});

it('restores a report that another writer changed, and keeps the times of its results', async () => {
  const { run, reports } = rig(['a']);
  await run();
  const name = 'taintkeeper-taintpolicy-a';
  const written = structuredClone(reports.get(name));
  Object.assign(reports.get(name) ?? {}, { summary: { fail: 0 } });
  expect(await run()).toEqual(['PUT a']);
  expect(reports.get(name)?.results).toEqual(written?.results);
  expect(reports.get(name)?.summary).toEqual(written?.summary);
});

it('restores a report in which a result of another writer names no object, then writes the others', async () => {
  const { run, reports } = rig(['a', 'b']);
  await run();
  Object.assign(reports.get('taintkeeper-taintpolicy-a') ?? {}, { results: [{ policy: 'x' }] });
  reports.delete('taintkeeper-taintpolicy-b');
  expect(await run()).toEqual(['PUT a', 'POST b']);
});

it('says once that the API server has no such API, or does not permit it, and goes on when it does', async () => {
  const { run, state, messages } = rig(['a']);
  state.permitted = undefined;
  expect(await run()).toEqual([]);
  expect(messages()).toEqual([]);
  state.permitted = false;
  await run();
  await run();
  Object.assign(state, { permitted: true, served: false });
  await run();
  await run();
  state.served = true;
  expect(await run()).toEqual(['POST a']);
  expect(messages()).toEqual([
    '--write-reports needs permission to write ClusterReports, which taintkeeper does not have: set writeReports: true in ' +
      "the chart's values, or run the commands that taintkeeper doctor prints",
    '--write-reports: the API server does not serve openreports.io/v1alpha1: install the CustomResourceDefinitions of OpenReports',
    '--write-reports: ClusterReports are written now',
  ]);
});

it('one that the API server refuses keeps back none of the others, and is a failure all the same', async () => {
  const { run, state, calls } = rig(['a', 'b', 'c']);
  state.refused = 'a';
  await expect(run()).rejects.toThrow('422');
  expect(calls).toEqual(['POST a', 'POST b', 'POST c']);
});

it('does not overwrite a report of that name that another writer made, and the error says so', async () => {
  const { run, reports, state, calls } = rig(['a', 'b']);
  await run();
  const name = 'taintkeeper-taintpolicy-a';
  const written = reports.get(name);
  if (!written) throw new Error('there is no report');
  reports.set(name, { ...written, metadata: { ...written.metadata, labels: {} } });
  reports.delete('taintkeeper-taintpolicy-b');
  await expect(run()).rejects.toThrow(
    'TaintPolicy a has no report: ClusterReport taintkeeper-taintpolicy-a lacks the label app.kubernetes.io/managed-by=taintkeeper, so ' +
      'another writer made it, and it is not overwritten; if it is not needed: kubectl delete clusterreport taintkeeper-taintpolicy-a',
  );
  expect(calls).toEqual(['POST a', 'POST b']);
  reports.delete(name);
  expect(await run()).toEqual(['POST a']);

  // Another leader has written it since they were listed.
  reports.delete(name);
  state.beforePost = () => void reports.set(name, written);
  expect(await run()).toEqual(['POST a']);
});

it('lets others have a turn between two policies, also where there is nothing to write: admissions do not wait', async () => {
  const { run, calls } = rig(['a', 'b', 'c']);
  await run();
  let turns = 0;
  const count = () => {
    turns++;
    next = setImmediate(count);
  };
  let next = setImmediate(count);
  onTestFinished(() => clearImmediate(next));
  await run();
  expect(calls).toEqual([]);
  expect(turns).toBeGreaterThanOrEqual(3);
});
