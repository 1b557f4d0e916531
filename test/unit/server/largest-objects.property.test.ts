import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { isExploring } from '../../seed.ts';
import {
  CONTROL_PLANE_TAINT,
  daemonSetCreationReview,
  nodeUpdateReview,
  TOLERATION_POLICY_YAML,
  taintPolicyYaml,
} from '../reviews.ts';
import {
  DAEMON_SET_EXTREMES,
  daemonSetShares,
  describeShares,
  filling,
  goJson,
  NODE_EXTREMES,
  nodeShares,
  type Shares,
} from './largest-objects.ts';
import { startServer } from './running-server.ts';

/** Each object has megabytes. The nightly run has more of them. */
const RUNS = { numRuns: isExploring() ? 10 : 2 };
const TIMEOUT_MS = 120_000;

const RESTORED = { key: 'dedicated', value: 'gpu', effect: 'NoSchedule' };
const RESTORE_POLICY = `
apiVersion: taintkeeper.dev/v1alpha1
kind: TaintPolicy
metadata: { name: restore }
spec: { mode: Restore, taints: [{ key: dedicated, effect: NoSchedule }] }
`;

const isTooLarge = ({ warnings = [] }: { readonly warnings?: readonly string[] }) =>
  warnings.some((text) => text.endsWith('its review is too large'));
const patched = (patch: string) => JSON.parse(Buffer.from(patch, 'base64').toString());

async function start() {
  const policies = [taintPolicyYaml('Deny'), RESTORE_POLICY, TOLERATION_POLICY_YAML].join('---\n');
  const server = await startServer({ policies });
  return async (review: object, path: string) => {
    const { status, text } = await server.post(goJson(review), { path });
    expect({ status, text: status === 200 ? '' : text }).toEqual({ status: 200, text: '' });
    return JSON.parse(text).response;
  };
}
type Post = Awaited<ReturnType<typeof start>>;

async function expectNodeDecisions(post: Post, chosen: Shares): Promise<void> {
  const fill = filling(chosen);
  const node = (...taints: readonly object[]) => fill({ metadata: { name: 'cp-1' }, spec: { taints }, status: {} });
  const update = (taint: object, uid: string) =>
    nodeUpdateReview([], [], { uid, object: node(), oldObject: node(taint) });
  const denied = await post(update(CONTROL_PLANE_TAINT, 'denied'), '/validate');
  expect(denied).toMatchObject({ uid: 'denied', allowed: false, status: { code: 403 } });
  const restored = await post(update(RESTORED, 'restored'), '/mutate');
  expect(restored).toMatchObject({ uid: 'restored', allowed: true });
  if (isTooLarge(restored)) {
    expect(await post(update(RESTORED, 'validated'), '/validate')).toMatchObject({ allowed: false });
    return;
  }
  const operations = patched(restored.patch).filter(({ path }: { path: string }) => path.startsWith('/spec/taints'));
  expect(operations).toEqual([expect.objectContaining({ op: 'add', value: RESTORED })]);
}

async function expectDaemonSetDecisions(post: Post, chosen: Shares): Promise<void> {
  const fill = filling(chosen);
  const object = (image: string) => {
    const spec = { hostNetwork: true, tolerations: [], containers: [{ name: 'c', image }] };
    return fill({ metadata: { name: 'kube-flannel-ds' }, spec: { template: { metadata: {}, spec } } });
  };
  const update = (uid: string, oldImage: string) =>
    daemonSetCreationReview([], { uid, operation: 'UPDATE', object: object('new'), oldObject: object(oldImage) });

  const unpatched = await post(update('changed', 'old'), '/mutate');
  if (isTooLarge(unpatched)) {
    expect(unpatched.allowed).toBe(true);
    return;
  }
  const unchanged = await post(update('unchanged', 'new'), '/mutate');
  expect([unchanged.allowed, unchanged.patch]).toEqual([true, undefined]);
  const changed = await post(update('changed', 'old'), '/mutate');
  expect(patched(changed.patch)).toHaveLength(2);
  const validated = await post(update('validated', 'old'), '/validate');
  expect(validated).toMatchObject({
    allowed: true,
    warnings: expect.arrayContaining([expect.stringContaining('missing')]),
  });
}

describe('objects as large as etcd accepts get a decision of both endpoints: no protected taint is removed', {
  timeout: TIMEOUT_MS,
}, () => {
  it.each(NODE_EXTREMES.map((chosen) => ({ chosen, what: describeShares(chosen) })))(
    'a node, $what',
    async ({ chosen }) => expectNodeDecisions(await start(), chosen),
  );

  it.each(DAEMON_SET_EXTREMES.map((chosen) => ({ chosen, what: describeShares(chosen) })))(
    'a DaemonSet, $what',
    async ({ chosen }) => expectDaemonSetDecisions(await start(), chosen),
  );

  it('nodes with any mixture of that', async () => {
    const post = await start();
    await fc.assert(
      fc.asyncProperty(nodeShares, (chosen) => expectNodeDecisions(post, chosen)),
      RUNS,
    );
  });

  it('DaemonSets with any mixture of that', async () => {
    const post = await start();
    await fc.assert(
      fc.asyncProperty(daemonSetShares, (chosen) => expectDaemonSetDecisions(post, chosen)),
      RUNS,
    );
  });
});
