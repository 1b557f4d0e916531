import { afterAll, beforeAll, expect, it } from 'vitest';
import { MERGE_PATCH } from '../control-plane/content-types.ts';
import { describeWithControlPlane } from '../control-plane/describe-with-control-plane.ts';
import { admin } from '../control-plane/users.ts';
import { waitUntil } from '../control-plane/wait-until.ts';
import {
  createNodes,
  createTaintPolicy,
  metricOf,
  patchNode,
  waitForStatus,
  waitForTaints,
  writesOf,
} from './drift.ts';
import { type Installation, install } from './installation.ts';
import { type NodeVersions, watchNodeVersions } from './node-versions.ts';
import { GPU } from './nodes.ts';
import { POLICIES_PATH } from './policy-resources.ts';

const NAMES = Array.from({ length: 300 }, (_, index) => `n${index}`);
const DONE_TIMEOUT_MS = 50_000;

describeWithControlPlane('a policy whose mode changes back and forth', {}, (cp) => {
  let installation: Installation;
  let nodes: NodeVersions;
  let generation = 1;

  beforeAll(async () => {
    installation = await install(cp());
    await installation.start(['a']);
    await createTaintPolicy(cp(), 'pool', { mode: 'Deny', taints: [{ ...GPU, ensure: 'Always' }] });
    nodes = await watchNodeVersions(cp());
    await createNodes(cp(), NAMES, 'pool', [GPU]);
  });
  afterAll(async () => {
    await nodes?.stop();
    await installation?.stop();
  });

  /** Waits until the leader has looked at all nodes by the policy as it is then. */
  async function setMode(mode: string) {
    const body = { spec: { mode } };
    const path = `${POLICIES_PATH.TaintPolicy}/pool`;
    expect((await cp().request(admin, 'PATCH', path, { body, contentType: MERGE_PATCH })).status).toBe(200);
    generation++;
    await waitForStatus(cp(), 'pool', ({ conditions }) =>
      Boolean(
        conditions?.some(({ status, observedGeneration }) => status === 'True' && observedGeneration === generation),
      ),
    );
    await waitUntil(
      async () =>
        (await metricOf(installation.replica('a'), 'taintkeeper_queue_depth{controller="node-repair"}')) === 0 ||
        undefined,
      { timeoutMs: DONE_TIMEOUT_MS, otherwise: () => 'the queue of nodes does not become empty' },
    );
  }

  it('writes no node', async () => {
    const since = Date.now();
    await setMode('Audit');
    await setMode('Deny');
    expect(writesOf(cp(), since)).toEqual([]);
  });

  it('a required taint that was removed in mode Audit is back in mode Deny', async () => {
    await setMode('Audit');
    expect(await patchNode(cp(), admin, 'n0', { spec: { taints: null } })).toMatchObject({ passed: true });
    await waitForStatus(cp(), 'pool', ({ violators }) => violators?.join() === 'n0');
    await setMode('Deny');
    await waitForTaints(cp(), 'n0', 'dedicated=gpu:NoSchedule');
    const status = await waitForStatus(cp(), 'pool', ({ violating }) => violating === 0);
    expect(status.matched).toBe(NAMES.length);
  });
});
