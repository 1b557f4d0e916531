import { afterAll, beforeAll, expect, it } from 'vitest';
import { describeWithControlPlane } from '../control-plane/describe-with-control-plane.ts';
import { admin, node } from '../control-plane/users.ts';
import { waitUntil } from '../control-plane/wait-until.ts';
import {
  createNodes,
  createTaintPolicy,
  eventsAbout,
  metricOf,
  patchNode,
  waitForEvent,
  waitForRecord,
  waitForStatus,
  waitForTaints,
  writesOf,
} from './drift.ts';
import { type Installation, install } from './installation.ts';
import { GPU, getNode, kubectl, taintsOf } from './nodes.ts';

const GPU_TEXT = 'dedicated=gpu:NoSchedule';
const OWN = { key: 'own.example.com/kept', effect: 'NoSchedule' };
const OWN_TEXT = 'own.example.com/kept:NoSchedule';
const PRESENT = { taints: [{ ...GPU, ensure: 'Always' }] };

describeWithControlPlane('drift that is only reported', {}, (cp) => {
  let installation: Installation;

  beforeAll(async () => {
    installation = await install(cp());
    for (const mode of ['Restore', 'Deny', 'Audit']) await createNodes(cp(), [`${mode}-1`.toLowerCase()], mode);
    await installation.start(['a'], { args: ['--audit'] });
    for (const mode of ['Restore', 'Deny', 'Audit']) {
      await createTaintPolicy(cp(), mode.toLowerCase(), {
        ...PRESENT,
        mode,
        nodeSelector: { matchLabels: { pool: mode } },
        ...(mode === 'Audit' ? {} : { failurePolicy: 'Ignore' }),
        taints: [
          { ...GPU, ensure: 'Always' },
          { key: OWN.key, restrict: ['Removal'] },
        ],
      });
    }
  });
  afterAll(() => installation?.stop());

  /** The policy's status, the metric, and one Event on each side say that the one node lacks the taint, for that reason. */
  async function isReported(replica: string, policy: string, mode: string) {
    const name = `${policy}-1`;
    const status = await waitForStatus(
      cp(),
      policy,
      ({ violating, mode: effective }) => violating === 1 && effective === mode,
    );
    expect(status.violators).toEqual([name]);
    await waitForMetric(replica, `taintkeeper_drift_nodes{policy="${policy}"}`, 1);
    const note = `reports missing taint ${GPU_TEXT}: mode ${mode} does not restore it`;
    await waitForNote(name, `TaintPolicy ${policy} ${note}`);
    await waitForNote(policy, `Node ${name}: ${note}`);
  }

  /** The metric follows the status of all policies. */
  async function waitForMetric(replica: string, series: string, expected: number): Promise<void> {
    let last: number | undefined;
    await waitUntil(
      async () => {
        last = await metricOf(installation.replica(replica), series);
        return last === expected || undefined;
      },
      { timeoutMs: 30_000, otherwise: () => `${series} is ${last}, not ${expected}` },
    );
  }

  /** And perhaps a second try that came before the watch had shown the first, and was refused. */
  function expectOneWriteEach() {
    const writes = writesOf(cp()).filter((write) => !write.endsWith(' 409'));
    expect(writes.toSorted()).toEqual(['deny-1 200', 'restore-1 200']);
  }

  function waitForNote(about: string, note: string) {
    return waitUntil(
      async () => (await eventsAbout(cp(), about, 'TaintMissing')).find((event) => event.note === note),
      { timeoutMs: 30_000, otherwise: () => `no Event about ${about}: ${note}` },
    );
  }

  it.each(['restore', 'deny', 'audit'])('with --audit, whatever the mode: policy %s', async (policy) => {
    await isReported('a', policy, 'Audit');
    expect(await taintsOf(cp(), `${policy}-1`)).toEqual([]);
  });

  it('with --audit nothing is written to any node', () => {
    expect(writesOf(cp())).toEqual([]);
  });

  it('without --audit, the leader sets what was reported, in mode Restore and Deny', async () => {
    await installation.replica('a').stop();
    installation.replicas.delete('a');
    await installation.start(['b']);
    await installation.proxy.waitForReady('b');
    for (const policy of ['restore', 'deny']) {
      await waitForTaints(cp(), `${policy}-1`, GPU_TEXT);
      await waitForStatus(cp(), policy, ({ violating }) => violating === 0);
      await waitForEvent(cp(), `${policy}-1`, 'TaintAdded');
    }
    expectOneWriteEach();
  });

  it('and mode Audit goes on reporting, once', async () => {
    const [policy, mode, name] = ['audit', 'Audit', 'audit-1'];
    await isReported('b', policy, mode);
    for (let round = 0; round < 10; round++) {
      await patchNode(cp(), admin, name, { metadata: { labels: { round: `${round}` } } });
    }
    // Another node's loss is told after that.
    await createNodes(cp(), [`${policy}-2`], 'none');
    await patchNode(cp(), admin, `${policy}-2`, { metadata: { labels: { pool: mode } } });
    await waitForEvent(cp(), `${policy}-2`, 'TaintMissing');
    const events = (await eventsAbout(cp(), name, 'TaintMissing')).filter(({ note }) => note.includes(`mode ${mode} `));
    // The Audit policy was reported in the same words by the replica before.
    expect(events.map(({ series }) => series)).toEqual([undefined, undefined]);
    expect(await taintsOf(cp(), name)).toEqual([]);
    expectOneWriteEach();
  });

  it('the kubelet of a node that lacks its taint may go on labelling it, and is never patched', async () => {
    const labels = { 'kubernetes.io/arch': 'amd64' };
    expect(await patchNode(cp(), node('audit-1'), 'audit-1', { metadata: { labels } })).toEqual({
      passed: true,
      error: '',
      warnings: [],
    });
    const { metadata, spec } = await getNode(cp(), 'audit-1');
    expect(metadata.labels).toMatchObject(labels);
    expect(spec.taints?.map(({ key }) => key)).toEqual(['node.kubernetes.io/not-ready']);
  });

  it('kubectl delete nodetaintrecord NAME accepts the present state', async () => {
    await createNodes(cp(), ['deny-3'], 'Deny', [GPU, OWN]);
    await waitForRecord(cp(), 'deny-3', OWN_TEXT);
    await installation.replica('b').stop();
    installation.replicas.delete('b');
    expect((await patchNode(cp(), admin, 'deny-3', { spec: { taints: [GPU] } })).error).toBe('');
    await installation.start(['c']);
    await waitForStatus(cp(), 'deny', ({ violators }) => violators?.includes('deny-3') ?? false);
    await waitForRecord(cp(), 'deny-3', `${OWN_TEXT} Missing`);
    const shown = await cp().kubectl(['get', 'ntr', 'deny-3', '--no-headers']);
    expect(shown.stdout.split(/\s+/).slice(1, 4)).toEqual([OWN.key, OWN.key, 'ModeDoesNotRestore']);
    expect((await kubectl(cp(), admin, ['delete', 'nodetaintrecord', 'deny-3'])).passed).toBe(true);
    await waitForStatus(cp(), 'deny', ({ violators }) => violators?.includes('deny-3') === false);
    await waitForRecord(cp(), 'deny-3');
    expect(await taintsOf(cp(), 'deny-3')).toEqual([GPU_TEXT]);
  });

  it('with --audit, a recorded taint that is removed is reported as without it', async () => {
    await createNodes(cp(), ['deny-4'], 'Deny', [GPU, OWN]);
    await waitForRecord(cp(), 'deny-4', OWN_TEXT);
    await installation.replica('c').stop();
    installation.replicas.delete('c');
    await installation.start(['d'], { args: ['--audit'] });
    await installation.proxy.waitForReady('d');
    expect((await patchNode(cp(), admin, 'deny-4', { spec: { taints: [GPU] } })).error).toBe('');
    await waitForStatus(cp(), 'deny', ({ violators }) => violators?.includes('deny-4') ?? false);
    await waitForNote('deny-4', `TaintPolicy deny reports missing taint ${OWN_TEXT}: mode Audit does not restore it`);
    expect(await taintsOf(cp(), 'deny-4')).toEqual([GPU_TEXT]);
  });
});
