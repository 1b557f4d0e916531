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
  waitForStatus,
  waitForTaints,
  writesOf,
} from './drift.ts';
import { type Installation, install } from './installation.ts';
import { GPU, getNode, taintsOf } from './nodes.ts';

const GPU_TEXT = 'dedicated=gpu:NoSchedule';
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
    const why = policy === 'audit' ? 'mode Audit does not set it' : 'only --audit keeps it from being set';
    const note = `reports missing taint ${GPU_TEXT}: ${why}`;
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

  it('with --audit, a required taint that is removed is reported, and stays off', async () => {
    await createNodes(cp(), ['deny-2'], 'Deny', [GPU]);
    await installation.replica('b').stop();
    installation.replicas.delete('b');
    await installation.start(['c'], { args: ['--audit'] });
    await installation.proxy.waitForReady('c');
    expect((await patchNode(cp(), admin, 'deny-2', { spec: { taints: null } })).error).toBe('');
    await waitForStatus(cp(), 'deny', ({ violators }) => violators?.includes('deny-2') ?? false);
    await waitForNote(
      'deny-2',
      `TaintPolicy deny reports missing taint ${GPU_TEXT}: only --audit keeps it from being set`,
    );
    expect(await taintsOf(cp(), 'deny-2')).toEqual([]);
  });
});
