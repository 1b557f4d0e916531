import { afterAll, beforeAll, expect, it } from 'vitest';
import type { PolicyStatus } from '../../src/policy/policy-status.ts';
import { MERGE_PATCH } from '../control-plane/content-types.ts';
import { describeWithControlPlane } from '../control-plane/describe-with-control-plane.ts';
import { admin } from '../control-plane/users.ts';
import { waitUntil } from '../control-plane/wait-until.ts';
import {
  createNodes,
  createTaintPolicy,
  patchNode,
  REMEMBERED,
  waitForAnnotation,
  waitForStatus,
  waitForTaints,
  waitUntilRestored,
} from './drift.ts';
import { type Installation, install, leaderOf, readConfigurations } from './installation.ts';
import { getNode, type Taint } from './nodes.ts';
import { POLICIES_PATH } from './policy-resources.ts';
import { admitAnySpec } from './spoiled-definitions.ts';

const KEPT: Taint = { key: 'example.com/kept', value: 'x', effect: 'NoSchedule' };
const KEPT_TEXT = 'example.com/kept=x:NoSchedule';
const GOOD = [{ key: KEPT.key, restrict: ['Removal'] }];
const SPOILED = [...GOOD, { key: 'node.kubernetes.io/*', restrict: ['Removal'] }];

describeWithControlPlane('a policy in force', {}, (cp) => {
  let installation: Installation;
  let putRight: () => Promise<void>;
  beforeAll(async () => {
    installation = await install(cp());
    await installation.start(['a', 'b']);
    await createTaintPolicy(cp(), 'keep', { taints: GOOD });
    await createNodes(cp(), ['n1', 'n2'], 'keep', [KEPT]);
    for (const name of ['n1', 'n2']) await waitForAnnotation(cp(), name, REMEMBERED, KEPT_TEXT);
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

  async function restartAll(...names: readonly string[]) {
    const ended = [...installation.replicas.keys()];
    await Promise.all(ended.map((name) => installation.replica(name).stop()));
    for (const name of ended) installation.replicas.delete(name);
    await installation.start(names);
    await waitUntil(async () => names.includes(await leaderOf(cp())) || undefined, {
      timeoutMs: 30_000,
      otherwise: () => `none of ${names} leads`,
    });
  }

  /** What was lost while nobody was asked comes back from the node's memory alone. */
  async function loseAndRegain(name: string) {
    const ended = [...installation.replicas.keys()];
    await Promise.all(ended.map((replica) => installation.replica(replica).stop()));
    for (const replica of ended) installation.replicas.delete(replica);
    expect(await patchNode(cp(), admin, name, { spec: { taints: null } })).toMatchObject({ passed: true });
    await installation.start([`${name}-a`]);
    await waitForTaints(cp(), name, KEPT_TEXT);
  }

  it('that is edited into something that cannot be used stays in force, and says which generation of it', async () => {
    await edit('keep', { taints: SPOILED });
    const status = await waitForReady('False', 2);
    expect(readyOf(status)).toMatchObject({
      reason: 'Invalid',
      message: expect.stringMatching(
        /^generation 1 stays in force; generation 2 cannot be used: spec\.taints\[1\]\.key: /,
      ),
    });
    expect(status).toMatchObject({ matched: 2, violating: 0, inForce: { generation: 1, spec: { taints: GOOD } } });
    for (const name of ['a', 'b']) {
      const said =
        /^generation 2 of TaintPolicy keep cannot be used, and generation 1 stays in force: spec\.taints\[1\]\.key: /;
      await installation.replica(name).waitForLog(({ msg }) => said.test(msg));
    }
    await waitUntilRestored(cp(), 'n1', KEPT.key);
    expect((await getNode(cp(), 'n2')).metadata.annotations?.[REMEMBERED]).toBe(KEPT_TEXT);
  });

  it('stays so for replicas that have never seen it otherwise', async () => {
    const before = await webhookNames();
    await restartAll('c', 'd');
    await waitUntilRestored(cp(), 'n1', KEPT.key);
    await loseAndRegain('n2');
    expect(await webhookNames()).toEqual(before);
    for (const name of ['n1', 'n2']) {
      expect((await getNode(cp(), name)).metadata.annotations?.[REMEMBERED]).toBe(KEPT_TEXT);
    }
  });

  it('whose last usable spec is nowhere to be found takes no memory with it, nor any webhook', async () => {
    const before = await webhookNames();
    const ended = [...installation.replicas.keys()];
    await Promise.all(ended.map((replica) => installation.replica(replica).stop()));
    for (const replica of ended) installation.replicas.delete(replica);
    const path = `${POLICIES_PATH.TaintPolicy}/keep/status`;
    const body = { status: { inForce: null, conditions: null } };
    expect((await cp().request(admin, 'PATCH', path, { body, contentType: MERGE_PATCH })).status).toBe(200);
    await restartAll('e');
    const status = await waitForReady('False', 2);
    expect(readyOf(status)?.message).toMatch(/^spec\.taints\[1\]\.key: /);
    expect(status.inForce).toBeUndefined();
    for (const name of ['n1', 'n2']) {
      expect((await getNode(cp(), name)).metadata.annotations?.[REMEMBERED]).toBe(KEPT_TEXT);
    }
    expect(await webhookNames()).toEqual(before);
  });

  it('is in force again when somebody who knows writes its last usable spec into the status', async () => {
    const path = `${POLICIES_PATH.TaintPolicy}/keep/status`;
    const spec = { mode: 'Restore', nodeSelector: { matchLabels: { pool: 'keep' } }, taints: GOOD };
    const body = { status: { inForce: { generation: 1, spec } } };
    expect((await cp().request(admin, 'PATCH', path, { body, contentType: MERGE_PATCH })).status).toBe(200);
    await waitUntilRestored(cp(), 'n1', KEPT.key);
    await waitForStatus(cp(), 'keep', (found) => /^generation 1 stays in force/.test(readyOf(found)?.message ?? ''));
  });

  it('that is put right is in force as it is', async () => {
    await edit('keep', { taints: GOOD });
    const status = await waitForReady('True', 3);
    expect(status.inForce?.generation).toBe(3);
    await waitUntilRestored(cp(), 'n1', KEPT.key);
  });

  it('with a field of a newer version is in force without it, and says so', async () => {
    await edit('keep', { future: { a: 1 }, taints: [{ ...GOOD[0], later: true }] });
    const status = await waitForReady('True', 4);
    expect(status.conditions).toContainEqual(
      expect.objectContaining({
        type: 'FieldsIgnored',
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
    const status = await waitForReady('False', 1);
    expect(status.inForce).toBeUndefined();
    await waitForStatus(cp(), 'control-plane-taints', (other) => readyOf(other)?.status === 'True');
    await putRight();
    await edit('keep', { taints: GOOD, future: null });
    await waitForReady('True', 2);
    expect((await getNode(cp(), 'n1')).metadata.annotations?.[REMEMBERED]).toBe(KEPT_TEXT);
  });
});
