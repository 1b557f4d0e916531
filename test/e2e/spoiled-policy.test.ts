import { afterAll, beforeAll, expect, it } from 'vitest';
import type { PolicyStatus } from '../../src/policy/reporting/policy-status.ts';
import { MERGE_PATCH } from '../control-plane/content-types.ts';
import { describeWithControlPlane } from '../control-plane/describe-with-control-plane.ts';
import { admin } from '../control-plane/users.ts';
import { waitUntil } from '../control-plane/wait-until.ts';
import { createNodes, createTaintPolicy, patchNode, waitForStatus, waitForTaints, waitUntilRestored } from './drift.ts';
import { type Installation, install, leaderOf, readConfigurations } from './installation.ts';
import type { Taint } from './nodes.ts';
import { POLICIES_PATH } from './policy-resources.ts';
import { admitAnySpec } from './spoiled-definitions.ts';

const KEPT: Taint = { key: 'example.com/kept', value: 'x', effect: 'NoSchedule' };
const KEPT_TEXT = 'example.com/kept=x:NoSchedule';
const GOOD = [{ ...KEPT, ensure: 'Always' }];
const SPOILED = [...GOOD, { key: 'readiness.k8s.io/*' }];

describeWithControlPlane('a policy in force', {}, (cp) => {
  let installation: Installation;
  let putRight: () => Promise<void>;
  beforeAll(async () => {
    installation = await install(cp());
    await installation.start(['a', 'b']);
    await createTaintPolicy(cp(), 'keep', { taints: GOOD });
    await createNodes(cp(), ['n1', 'n2'], 'keep', [KEPT]);
    await waitUntilRestored(cp(), 'n1', KEPT.key);
    await waitForReady('True', 1);
    putRight = await admitAnySpec(cp());
  });
  afterAll(() => installation?.stop());

  const readyOf = ({ conditions }: PolicyStatus) => conditions?.find(({ type }) => type === 'Ready');

  async function waitForReady(status: 'True' | 'False', generation: number): Promise<PolicyStatus> {
    return waitForStatus(cp(), 'keep', (found) => {
      const ready = readyOf(found);
      return ready?.status === status && ready.observedGeneration === generation;
    });
  }

  async function edit(name: string, spec: object) {
    const path = `${POLICIES_PATH.TaintPolicy}/${name}`;
    const { status } = await cp().request(admin, 'PATCH', path, { body: { spec }, contentType: MERGE_PATCH });
    expect(status).toBe(200);
  }

  async function webhookNames(): Promise<string[]> {
    // In which order they stand makes no difference: those that are only kept come last.
    const found = (await readConfigurations(cp())).flatMap(({ webhooks }) => (webhooks ?? []).map(({ name }) => name));
    return found.sort();
  }

  /** Ends the replicas that run, and starts others. */
  async function restartAll(...names: readonly string[]) {
    const ended = [...installation.replicas.keys()];
    await Promise.all(ended.map((name) => installation.replica(name).stop()));
    for (const name of ended) installation.replicas.delete(name);
    await installation.start(names);
    await waitForLeader(...names);
  }

  async function waitForLeader(...names: readonly string[]) {
    await waitUntil(async () => names.includes(await leaderOf(cp())) || undefined, {
      timeoutMs: 30_000,
      otherwise: () => `none of ${names} leads`,
    });
  }

  it('that is edited into something that cannot be used stays in force, and says which generation of it', async () => {
    await edit('keep', { taints: SPOILED });
    const status = await waitForReady('False', 2);
    expect(readyOf(status)).toMatchObject({
      reason: 'EarlierInForce',
      message: expect.stringMatching(
        /^generation 1 stays in force until taintkeeper restarts; generation 2 cannot be used: spec\.taints\[1\]\.key: /,
      ),
    });
    expect(status).toMatchObject({ mode: 'Restore', matched: 2, violating: 0 });
    for (const name of ['a', 'b']) {
      const said =
        /^generation 2 of TaintPolicy keep cannot be used, and generation 1 stays in force until this process ends: spec\.taints\[1\]\.key: /;
      await installation.replica(name).waitForLog(({ msg }) => said.test(msg));
    }
    await waitUntilRestored(cp(), 'n1', KEPT.key);
  });

  it('stays so under another leader that has seen it', async () => {
    const leader = await leaderOf(cp());
    await installation.replica(leader).stop();
    installation.replicas.delete(leader);
    const [other = ''] = installation.replicas.keys();
    await waitForLeader(other);
    expect(await patchNode(cp(), admin, 'n1', { spec: { taints: null } })).toMatchObject({ passed: true });
    await waitForTaints(cp(), 'n1', KEPT_TEXT);
    expect(readyOf(await waitForReady('False', 2))).toMatchObject({ reason: 'EarlierInForce' });
  });

  it('is not in force after a restart of all replicas, and says so; the webhooks stay', async () => {
    const before = await webhookNames();
    await restartAll('c', 'd');
    const status = await waitForStatus(cp(), 'keep', (found) => readyOf(found)?.reason === 'Invalid');
    expect(readyOf(status)).toMatchObject({
      status: 'False',
      message: expect.stringMatching(
        /^nothing of the policy is in force; generation 2 cannot be used: spec\.taints\[1\]\.key: /,
      ),
    });
    expect(status).not.toHaveProperty('mode');
    for (const name of ['c', 'd']) {
      const said =
        /^generation 2 of TaintPolicy keep cannot be used, and nothing of it is in force: spec\.taints\[1\]\.key: /;
      await installation.replica(name).waitForLog(({ msg }) => said.test(msg));
      expect((await installation.replica(name).readyz()).text).toContain('not usable: TaintPolicy keep');
    }
    expect(await patchNode(cp(), admin, 'n2', { spec: { taints: null } })).toMatchObject({ passed: true });
    await waitForTaints(cp(), 'n2');
    expect(await webhookNames()).toEqual(before);
  });

  it('that is corrected sets its taint on nodes that lost it meanwhile', async () => {
    await edit('keep', { taints: GOOD });
    await waitForReady('True', 3);
    await waitForTaints(cp(), 'n2', KEPT_TEXT);
    await waitUntilRestored(cp(), 'n1', KEPT.key);
  });

  it('with a field of a newer version is in force without it, and says so', async () => {
    await edit('keep', { future: { a: 1 }, taints: [{ ...GOOD[0], later: true }] });
    const status = await waitForReady('True', 4);
    expect(status.conditions).toContainEqual(
      expect.objectContaining({
        type: 'Stalled',
        status: 'True',
        reason: 'UnknownFields',
        message: expect.stringMatching(/^spec\.future, spec\.taints\[0\]\.later: /),
      }),
    );
    await waitUntilRestored(cp(), 'n1', KEPT.key);
    expect(await webhookNames()).toContain('restore.taintkeeper.dev');
  });

  it('that is deleted and created anew, unusable from the beginning, has nothing of the old one', async () => {
    await cp().request(admin, 'DELETE', `${POLICIES_PATH.TaintPolicy}/keep`);
    await createTaintPolicy(cp(), 'keep', { taints: SPOILED });
    expect(readyOf(await waitForReady('False', 1))).toMatchObject({ reason: 'Invalid' });
    await waitForStatus(cp(), 'control-plane-taints', (other) => readyOf(other)?.status === 'True');
    await putRight();
    await edit('keep', { taints: GOOD, future: null });
    await waitForReady('True', 2);
    await waitUntilRestored(cp(), 'n1', KEPT.key);
  });
});
