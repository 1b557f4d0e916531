import { afterAll, beforeAll, expect, it } from 'vitest';
import { machineMarks } from '../../src/kubernetes/machine.ts';
import { mark } from '../../src/kubernetes/text.ts';
import { fitRecords, formatRecord, parseRecord } from '../../src/objects/node-record.ts';
import { MERGE_PATCH } from '../control-plane/content-types.ts';
import { describeWithControlPlane } from '../control-plane/describe-with-control-plane.ts';
import { NAMESPACE } from '../control-plane/replicas.ts';
import { admin, developer, node } from '../control-plane/users.ts';
import { waitUntil } from '../control-plane/wait-until.ts';
import {
  createTaintPolicy,
  eventsAbout,
  metricOf,
  patchNode,
  REMEMBERED,
  waitForAnnotation,
  waitForEvent,
  waitForStatus,
  waitForTaints,
} from './drift.ts';
import { type Installation, install, leaderOf } from './installation.ts';
import { attempt, GPU, type Node, path, RELEASE, taintsOf } from './nodes.ts';

const GPU_TEXT = 'dedicated=gpu:NoSchedule';
const RECORDS = `/api/v1/namespaces/${NAMESPACE}/configmaps/taintkeeper-nodes`;
const TIMEOUT_MS = 40_000;
/** A Lease that nobody gives back lasts 15 s. */
const LEADER_TIMEOUT_MS = 60_000;
const TEST_TIMEOUT_MS = 150_000;

describeWithControlPlane('a node that is deleted and registers anew', {}, (cp) => {
  let installation: Installation;

  beforeAll(async () => {
    installation = await install(cp());
    await installation.start(['a', 'b']);
    const more = { taints: [{ key: GPU.key }], deletedNodeRetentionSeconds: 3600 };
    for (const [name, mode] of [
      ['restoring', 'Restore'],
      ['denying', 'Deny'],
      ['watching', 'Audit'],
    ] as const) {
      await createTaintPolicy(cp(), name, { ...more, mode });
      await waitForStatus(cp(), name, ({ conditions }) =>
        Boolean(conditions?.some(({ type, status }) => type === 'Ready' && status === 'True')),
      );
    }
  });
  afterAll(() => installation?.stop());

  /** As its kubelet does, with what Kubernetes 1.36 sends: `initialNode` of pkg/kubelet/kubelet_node_status.go. */
  async function register(name: string, pool: string, systemUUID = `machine-of-${name}`) {
    const nodeInfo = { systemUUID, machineID: '', bootID: '', kernelVersion: '', osImage: '', architecture: '' };
    const versions = { containerRuntimeVersion: '', kubeletVersion: '', kubeProxyVersion: '', operatingSystem: '' };
    const body = { metadata: { name, labels: { pool } }, status: { nodeInfo: { ...nodeInfo, ...versions } } };
    const { status, body: created } = await cp().request<Node>(node(name), 'POST', '/api/v1/nodes', { body });
    const taints = (created.spec?.taints ?? []).map(({ key, value, effect }) => `${key}=${value}:${effect}`);
    return {
      status,
      taints: taints.filter((taint) => taint.startsWith(GPU.key)),
      annotations: created.metadata?.annotations,
    };
  }
  async function remove(name: string) {
    expect(await attempt(cp(), admin, 'DELETE', path(name), undefined)).toMatchObject({ passed: true });
  }
  async function recordOf(name: string) {
    const { body } = await cp().request<{ data?: Record<string, string> }>(admin, 'GET', RECORDS);
    return parseRecord(body.data?.[name] ?? '');
  }
  async function waitForRecord(name: string, isRight: (record: Awaited<ReturnType<typeof recordOf>>) => boolean) {
    let last: unknown;
    await waitUntil(
      async () => {
        const record = await recordOf(name);
        last = record;
        return isRight(record) || undefined;
      },
      { timeoutMs: TIMEOUT_MS, otherwise: () => `the record of ${name} is ${JSON.stringify(last)}` },
    );
  }
  /** A node that has carried the taint for long enough to be recorded. */
  async function taintedNode(name: string, pool: string) {
    expect(await register(name, pool)).toMatchObject({ status: 201, taints: [] });
    expect(await patchNode(cp(), developer, name, { spec: { taints: [GPU] } })).toMatchObject({ passed: true });
    await waitForRecord(name, (record) => record?.taints.length === 1);
  }

  it.each(['restoring', 'denying'])('at once, has what it carried: %s', async (pool) => {
    const name = `at-once-${pool}`;
    await taintedNode(name, pool);
    const began = performance.now();
    await remove(name);
    const created = await register(name, pool);
    process.stderr.write(`deleted and registered anew within ${(performance.now() - began).toFixed()} ms\n`);
    expect(created).toMatchObject({ status: 201, taints: [GPU_TEXT], annotations: { [REMEMBERED]: GPU_TEXT } });
    expect(await waitForEvent(cp(), name, 'TaintReturned')).toMatchObject({
      type: 'Normal',
      note: `registered anew, and carries taint ${GPU_TEXT} again, as before it was deleted (TaintPolicy ${pool})`,
    });
    const series = `taintkeeper_decisions_total{kind="Node",policy="${pool}",mode="${pool === 'restoring' ? 'Restore' : 'Deny'}",outcome="returned"}`;
    const counts = await Promise.all([...installation.replicas.values()].map((replica) => metricOf(replica, series)));
    expect(counts.filter((count) => count !== undefined)).toEqual([1]);
  });

  it('later, when its deletion was seen, has it as well; once more, and again', async () => {
    await taintedNode('later', 'restoring');
    for (let round = 0; round < 2; round++) {
      await remove('later');
      await waitForRecord('later', (record) => record?.deletedAt !== undefined);
      expect(await register('later', 'restoring')).toMatchObject({ status: 201, taints: [GPU_TEXT] });
      await waitForRecord('later', (record) => record !== undefined && record.deletedAt === undefined);
    }
  });

  it('on another machine has nothing of it', async () => {
    await taintedNode('other-machine', 'restoring');
    await remove('other-machine');
    expect(await register('other-machine', 'restoring', 'another')).toMatchObject({ status: 201, taints: [] });
    await waitForRecord('other-machine', (record) => record === undefined);
    expect(await taintsOf(cp(), 'other-machine')).toEqual([]);
  });

  it('has nothing that went with leave before', async () => {
    await taintedNode('released', 'restoring');
    const announced = { metadata: { annotations: { [RELEASE]: GPU_TEXT } } };
    expect(await patchNode(cp(), developer, 'released', announced)).toMatchObject({ passed: true });
    expect(await patchNode(cp(), developer, 'released', { spec: { taints: null } })).toMatchObject({ passed: true });
    await waitForRecord('released', (record) => record === undefined);
    await remove('released');
    expect(await register('released', 'restoring')).toMatchObject({ status: 201, taints: [] });
  });

  it('in mode Audit is reported, and has nothing', async () => {
    await taintedNode('watched', 'watching');
    await remove('watched');
    await waitForRecord('watched', (record) => record?.deletedAt !== undefined);
    expect(await register('watched', 'watching')).toMatchObject({ status: 201, taints: [] });
    expect((await waitForEvent(cp(), 'watched', 'TaintMissing')).note).toContain(`missing taint ${GPU_TEXT}`);
    expect(await taintsOf(cp(), 'watched')).toEqual([]);
  });

  it('a kubelet that starts beside its Node is told that there is one, and nothing came back', async () => {
    await taintedNode('still-there', 'restoring');
    expect((await register('still-there', 'restoring')).status).toBe(409);
    expect(await taintsOf(cp(), 'still-there')).toEqual([GPU_TEXT]);
    await waitForRecord('still-there', (record) => record?.taints.length === 1 && record.deletedAt === undefined);
    expect(await eventsAbout(cp(), 'still-there', 'TaintReturned')).toEqual([]);
  });

  it(
    'while nobody leads has it from a replica that serves, and after the leader has changed',
    async () => {
      await taintedNode('led', 'restoring');
      const leader = await leaderOf(cp());
      const [other = ''] = [...installation.replicas.keys()].filter((name) => name !== leader);
      installation.proxy.remove(leader);
      await installation.replica(leader).kill();
      installation.replicas.delete(leader);
      await remove('led');
      expect(await register('led', 'restoring')).toMatchObject({ status: 201, taints: [GPU_TEXT] });
      const { uid } = (await recordOf('led')) ?? {};

      await waitUntil(async () => (await leaderOf(cp())) === other || undefined, {
        timeoutMs: LEADER_TIMEOUT_MS,
        otherwise: () => 'nobody has taken the Lease',
      });
      await waitForRecord('led', (record) => record !== undefined && record.uid !== uid);
      await remove('led');
      expect(await register('led', 'restoring')).toMatchObject({ status: 201, taints: [GPU_TEXT] });
    },
    TEST_TIMEOUT_MS,
  );

  it(
    'while nobody is there has it once somebody leads: in mode Restore; in Deny it is reported, and in the memory',
    async () => {
      await taintedNode('away-restoring', 'restoring');
      await taintedNode('away-denying', 'denying');
      await taintedNode('away-gone', 'restoring');
      await Promise.all([...installation.replicas.values()].map((replica) => replica.stop()));
      installation.replicas.clear();
      for (const name of ['away-restoring', 'away-denying', 'away-gone']) await remove(name);
      for (const pool of ['restoring', 'denying']) {
        expect(await register(`away-${pool}`, pool)).toMatchObject({ status: 201, taints: [] });
      }
      await installation.start(['c']);
      await waitForTaints(cp(), 'away-restoring', GPU_TEXT);
      await waitForAnnotation(cp(), 'away-denying', REMEMBERED, GPU_TEXT);
      expect(await waitForEvent(cp(), 'away-denying', 'TaintMissing')).toMatchObject({ type: 'Warning' });
      expect(await taintsOf(cp(), 'away-denying')).toEqual([]);
      await waitForRecord('away-gone', (record) => record?.deletedAt !== undefined);
      expect(await register('away-gone', 'restoring')).toMatchObject({ status: 201, taints: [GPU_TEXT] });
    },
    TEST_TIMEOUT_MS,
  );

  it('whatever stands in the ConfigMap: what is no record gives nothing back, and is left alone', async () => {
    const data = { nonsense: '{"uid":', 'config.yaml': 'replicas: 2' };
    expect((await cp().request(admin, 'PATCH', RECORDS, { body: { data }, contentType: MERGE_PATCH })).status).toBe(
      200,
    );
    expect(await register('nonsense', 'restoring')).toMatchObject({ status: 201, taints: [] });
    await taintedNode('after', 'restoring');
    const { body } = await cp().request<{ data: Record<string, string> }>(admin, 'GET', RECORDS);
    expect(body.data).toMatchObject(data);

    // It is created anew, with what nodes carry now.
    expect((await cp().request(admin, 'DELETE', RECORDS)).status).toBe(200);
    await patchNode(cp(), admin, 'nonsense', { spec: { taints: [GPU] } });
    await waitForRecord('nonsense', (record) => record?.taints.length === 1);
    await waitForRecord('after', (record) => record?.taints.length === 1);
  });

  it.each([
    { what: 'names as clouds give them', nodes: 20_000, length: 45 },
    { what: 'the longest names', nodes: 5_000, length: 253 },
  ])('as many records as ever are kept find room in one ConfigMap: $what', async ({ nodes, length }) => {
    const record = { uid: mark('u'), machine: machineMarks({ systemUUID: 's', providerID: 'p' }), taints: [GPU] };
    const names = Array.from({ length: nodes }, (_, index) => String(index).padStart(length, 'n'));
    const { texts } = fitRecords(new Map(names.map((name) => [name, record])), new Map());
    process.stderr.write(`${texts.size} records of nodes with names of ${length} characters\n`);
    expect(texts.size).toBeLessThan(nodes);
    const url = '/api/v1/namespaces/default/configmaps';
    const body = { metadata: { name: `records-${length}` }, data: Object.fromEntries(texts) };
    expect(await attempt(cp(), admin, 'POST', url, body)).toMatchObject({ error: '' });
    const data = { [names[0] ?? '']: formatRecord({ ...record, deletedAt: 0 }) };
    const began = performance.now();
    expect(await attempt(cp(), admin, 'PATCH', `${url}/records-${length}`, { data }, MERGE_PATCH)).toMatchObject({
      error: '',
    });
    process.stderr.write(`one of them changed in ${(performance.now() - began).toFixed()} ms\n`);
  });
});
