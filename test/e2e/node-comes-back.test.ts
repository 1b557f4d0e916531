import { afterAll, beforeAll, expect, it } from 'vitest';
import { crdFiles } from '../../scripts/crds.ts';
import { viewRecord } from '../../src/objects/node-record.ts';
import { MERGE_PATCH } from '../control-plane/content-types.ts';
import { describeWithControlPlane } from '../control-plane/describe-with-control-plane.ts';
import { admin, developer, node } from '../control-plane/users.ts';
import { waitUntil } from '../control-plane/wait-until.ts';
import {
  createTaintPolicy,
  eventsAbout,
  metricOf,
  patchNode,
  waitForEvent,
  waitForStatus,
  waitForTaints,
} from './drift.ts';
import { type Installation, install, leaderOf } from './installation.ts';
import { attempt, GPU, type Node, path, RELEASE, taintsOf } from './nodes.ts';

const GPU_TEXT = 'dedicated=gpu:NoSchedule';
const RECORDS = '/apis/taintkeeper.dev/v1alpha1/nodetaintrecords';
const CRD = '/apis/apiextensions.k8s.io/v1/customresourcedefinitions/nodetaintrecords.taintkeeper.dev';
const TIMEOUT_MS = 40_000;
/** A Lease that nobody gives back lasts 15 s. */
const LEADER_TIMEOUT_MS = 60_000;
const TEST_TIMEOUT_MS = 150_000;

describeWithControlPlane('a node that is deleted and registers anew', {}, (cp) => {
  let installation: Installation;

  beforeAll(async () => {
    installation = await install(cp());
    await installation.start(['a', 'b']);
    const more = { taints: [{ key: GPU.key, restrict: ['Removal'] }], deletedNodeRetentionSeconds: 3600 };
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
    const { status, body } = await cp().request<object>(admin, 'GET', `${RECORDS}/${name}`);
    return status === 200 ? viewRecord(body) : undefined;
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
    expect(created).toMatchObject({ status: 201, taints: [GPU_TEXT] });
    expect(await waitForEvent(cp(), name, 'TaintReturned')).toMatchObject({
      type: 'Normal',
      note: `registered again, and carries taint ${GPU_TEXT} again, as before it was deleted (TaintPolicy ${pool})`,
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
    'gets its taint back while no replica leads, and again after another replica leads',
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
        otherwise: () => 'no replica has taken the Lease',
      });
      await waitForRecord('led', (record) => record !== undefined && record.uid !== uid);
      await remove('led');
      expect(await register('led', 'restoring')).toMatchObject({ status: 201, taints: [GPU_TEXT] });
    },
    TEST_TIMEOUT_MS,
  );

  it(
    'while no replica runs gets its taint from the next leader in mode Restore; Deny only reports it',
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
      expect(await waitForEvent(cp(), 'away-denying', 'TaintMissing')).toMatchObject({ type: 'Warning' });
      expect(await taintsOf(cp(), 'away-denying')).toEqual([]);
      await waitForRecord('away-gone', (record) => record?.deletedAt !== undefined);
      expect(await register('away-gone', 'restoring')).toMatchObject({ status: 201, taints: [GPU_TEXT] });
    },
    TEST_TIMEOUT_MS,
  );

  it('has a record that kubectl shows', async () => {
    await taintedNode('shown', 'restoring');
    const taints = [GPU, { ...GPU, effect: 'PreferNoSchedule' }];
    expect(await patchNode(cp(), developer, 'shown', { spec: { taints } })).toMatchObject({ passed: true });
    await waitForRecord('shown', (record) => record?.taints.length === 2);
    const shown = async () => {
      const { stdout } = await cp().kubectl(['get', 'ntr', 'shown']);
      return stdout.split('\n').map((line) => line.split(/\s+/).slice(0, -1));
    };
    expect((await shown()).slice(0, 2)).toEqual([
      ['NAME', 'TAINT', 'MISSING', 'BLOCKED', 'DELETED'],
      ['shown', GPU.key],
    ]);
    await remove('shown');
    await waitForRecord('shown', (record) => record?.deletedAt !== undefined);
    expect((await shown())[1]).toEqual(['shown', GPU.key, expect.stringMatching(/^\d+s$/)]);
    const { body } = await cp().request<object>(admin, 'GET', `${RECORDS}/shown`);
    expect(body).toMatchObject({
      kind: 'NodeTaintRecord',
      node: { uid: expect.any(String), systemUUID: 'machine-of-shown' },
      taints: taints.map((taint) => ({ ...taint, policies: ['restoring'] })),
    });
    const explained = await cp().kubectl(['explain', 'ntr.taints.state']);
    expect(explained.stdout).toContain('Missing');
  });

  it('has a record though its name is as long as names can be', async () => {
    const name = `${'n'.repeat(251)}.n`;
    await taintedNode(name, 'restoring');
    await remove(name);
    expect(await register(name, 'restoring')).toMatchObject({ status: 201, taints: [GPU_TEXT] });
  });

  it('has a record that a user who may write nodes and their status cannot forge', async () => {
    await taintedNode('forged', 'restoring');
    const before = await recordOf('forged');
    const taints = [{ ...GPU, value: 'forged', policies: ['restoring'] }];
    const created = { apiVersion: 'taintkeeper.dev/v1alpha1', kind: 'NodeTaintRecord', metadata: { name: 'other' } };
    for (const [method, url, body] of [
      ['PATCH', `${RECORDS}/forged`, { taints }],
      ['DELETE', `${RECORDS}/forged`, undefined],
      ['POST', RECORDS, { ...created, node: { uid: 'u' }, taints }],
    ] as const) {
      const { status } = await cp().request(developer, method, url, { body, contentType: MERGE_PATCH });
      expect({ method, status }).toEqual({ method, status: 403 });
    }
    const status = { nodeInfo: { systemUUID: 'another-machine', nodeTaintRecord: taints } };
    const { status: answered } = await cp().request(developer, 'PATCH', `${path('forged')}/status`, {
      body: { status },
      contentType: MERGE_PATCH,
    });
    expect(answered).toBe(200);
    await taintedNode('after-forgery', 'restoring');
    expect(await recordOf('forged')).toEqual(before);
    await remove('forged');
    expect(await register('forged', 'restoring')).toMatchObject({ status: 201, taints: [GPU_TEXT] });
  });

  it('has nothing back when its record was deleted meanwhile; one that was edited is written again', async () => {
    await taintedNode('forgotten', 'restoring');
    await taintedNode('edited', 'restoring');
    for (const name of ['forgotten', 'edited']) {
      await remove(name);
      await waitForRecord(name, (record) => record?.deletedAt !== undefined);
    }
    expect((await cp().request(admin, 'DELETE', `${RECORDS}/forgotten`)).status).toBe(200);
    const taints = [{ ...GPU, value: 'edited', policies: ['restoring'] }];
    const edit = { body: { taints }, contentType: MERGE_PATCH };
    expect((await cp().request(admin, 'PATCH', `${RECORDS}/edited`, edit)).status).toBe(200);
    await waitForRecord('edited', (record) => record?.taints[0]?.value === GPU.value);
    expect(await register('edited', 'restoring')).toMatchObject({ status: 201, taints: [GPU_TEXT] });
    expect(await register('forgotten', 'restoring')).toMatchObject({ status: 201, taints: [] });
  });

  it(
    'without the definition, is reported; replicas become ready, and records come back with the definition',
    async () => {
      await taintedNode('unserved', 'restoring');
      expect((await cp().request(admin, 'DELETE', CRD)).status).toBe(200);
      await waitForStatus(cp(), 'restoring', ({ conditions }) =>
        Boolean(conditions?.some(({ type, reason }) => type === 'Stalled' && reason === 'NodeRecordsNotWritten')),
      );
      const [started] = await installation.start(['unserved']);
      let last: unknown;
      await waitUntil(
        async () => {
          const answer = await started?.readyz();
          last = answer;
          return answer?.status === 200 || undefined;
        },
        { timeoutMs: TIMEOUT_MS, otherwise: () => `the replica is not ready: ${JSON.stringify(last)}` },
      );
      expect(last).toMatchObject({ text: expect.stringContaining('node records degraded') });

      const input = crdFiles()['nodetaintrecords.taintkeeper.dev.yaml'] ?? '';
      expect(await cp().kubectl(['apply', '-f', '-'], { input })).toMatchObject({ code: 0 });
      await waitForRecord('unserved', (record) => record?.taints.length === 1);
      await waitForStatus(
        cp(),
        'restoring',
        ({ conditions }) => !conditions?.some(({ type, status }) => type === 'Stalled' && status === 'True'),
      );
    },
    TEST_TIMEOUT_MS,
  );
});
