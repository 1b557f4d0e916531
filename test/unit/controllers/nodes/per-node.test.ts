import { describe, expect, it, vi } from 'vitest';
import type { ClusterDaemonSet, ClusterNode } from '../../../../src/cluster/objects/cluster-objects.ts';
import type { Entry } from '../../../../src/cluster/watch/cached-objects.ts';
import { perNode } from '../../../../src/controllers/nodes/per-node.ts';
import { rememberedSteps } from '../../../../src/controllers/nodes/remembered-steps.ts';
import { watchCsiNodes } from '../../../../src/controllers/nodes/startup/csi-nodes.ts';
import { watchNewDaemonSetPods } from '../../../../src/controllers/nodes/startup/new-daemon-set-pods.ts';
import { watchInTurn } from '../../../../src/controllers/nodes/startup/own-watch-turns.ts';
import { watchStartupPods } from '../../../../src/controllers/nodes/startup/startup-pods.ts';
import { startStartupWaits } from '../../../../src/controllers/nodes/startup/startup-waits.ts';
import { MAX_SINGLE_WATCHES, watchByNode } from '../../../../src/controllers/nodes/startup/watches-by-node.ts';
import type { TaintRule } from '../../../../src/policy/taint-rule.ts';
import { createSubject } from '../../../../src/runtime/source.ts';
import { policySet } from '../../policy/policies.ts';
import { stopClock } from '../../stopped-clock.ts';
import { nodeEntry } from './node-entries.ts';
import { NO_DAEMON_SETS } from './repaired-nodes.ts';
import { watchedObjects } from './watched-objects.ts';

const TAINT = { key: 'example.com/network', effect: 'NoSchedule' } as const;
const CNI = { namespace: 'kube-system', name: 'cni' };
const daemonSet = {
  ...CNI,
  uid: 'cni-uid',
  value: { podSelector: { matchLabels: { app: 'cni' } }, status: { desired: 0 } },
} as unknown as Entry<ClusterDaemonSet>;

const policiesOf = (rule: Omit<TaintRule, 'key' | 'effect'>) => {
  const compiled = policySet({ taint: { p: { mode: 'Restore', taints: [{ ...TAINT, ...rule }] } } });
  return {
    snapshot: () => ({ policies: [], compiled, versions: new Set<string>() }),
    isComplete: () => true,
    changes: createSubject(),
  };
};

/** Watches of the objects of single nodes. Further nodes have no place. */
function startWatches() {
  stopClock();
  const api = watchedObjects();
  const endShared = vi.fn();
  const options = {
    client: api.client,
    resource: 'test',
    path: '/api/v1/pods',
    fieldSelector: (node: string) => `spec.nodeName=${node}`,
    project: (object: unknown) => object,
    onChange: vi.fn(),
    endShared,
  };
  const takePlaces = (watches: { readonly readOrWatch: (node: string) => unknown }) => {
    for (let index = 0; index < MAX_SINGLE_WATCHES; index++) watches.readOrWatch(`n${index}`);
  };
  return { api, options, takePlaces };
}

describe('after its end, nothing of a node is left:', () => {
  it('neither its own watch, nor its share of another one', async () => {
    const { api, options } = startWatches();
    const watches = watchByNode(api.run, options);
    watches.readOrWatch('n1');
    watches.share('n2');
    expect([watches.has('n1'), watches.sharing.has('n2')]).toEqual([true, true]);
    watches.end('n1');
    watches.end('n2');
    expect([watches.has('n1'), watches.sharing.has('n2')]).toEqual([false, false]);
    expect(options.endShared).toHaveBeenCalledOnce();
    await watches.stop();
  });

  it('not its place in the queue for a watch', async () => {
    const { api, options, takePlaces } = startWatches();
    const watches = watchInTurn(api.run, options);
    takePlaces(watches);
    watches.queue('late');
    watches.queue('later');
    watches.end('late');
    expect(watches.isQueued('late')).toBe(false);
    watches.end('n0');
    expect(options.onChange.mock.calls).toEqual([['later']]);
    await watches.stop();
  });

  it('not the time of its turn: it is not queued again', async () => {
    const { api, options, takePlaces } = startWatches();
    const watches = watchInTurn(api.run, options);
    takePlaces(watches);
    await vi.advanceTimersByTimeAsync(0);
    watches.end('n0');
    watches.readOrWatch('n0-again');
    await vi.advanceTimersByTimeAsync(0);
    watches.queue('late');
    await vi.advanceTimersByTimeAsync(60_000);
    expect([watches.isQueued('n0'), watches.isQueued('n1')]).toEqual([false, true]);
    await watches.stop();
  });

  it('neither since when its pod is missing, nor that the watches may have missed it', async () => {
    stopClock();
    const api = watchedObjects();
    const onChange = vi.fn<(node?: string) => void>();
    const pods = watchNewDaemonSetPods(api.run, api.client, { get: () => daemonSet }, onChange);
    pods.watch([daemonSet]);
    await vi.advanceTimersByTimeAsync(0);
    const on = (name: string) => pods.on({ name, createdAt: Date.now() + 60_000 }, [CNI]);
    for (const node of ['doubted', 'missing']) expect(on(node)).toEqual({ value: [] });
    pods.end('missing');
    onChange.mockClear();
    await vi.advanceTimersByTimeAsync(60_000);
    expect(onChange.mock.calls).toEqual([['doubted']]);
    expect(on('doubted')).toBeUndefined();
    pods.end('doubted');
    expect(on('doubted')).toEqual({ value: [] });
    await pods.stop();
  });
});

describe('after one call, nothing of a deleted Node is left:', () => {
  it('neither the watch of its pods, nor that of its CSINode', async () => {
    const api = watchedObjects();
    const kept = perNode();
    const pods = watchStartupPods(api.run, api.client, { get: () => daemonSet }, kept, () => {});
    const csiNodes = watchCsiNodes(api.run, api.client, kept, () => {});
    for (const name of ['n1', 'n2']) {
      pods.beginStep({ name, createdAt: 0 }).read([CNI]);
      csiNodes.beginStep(name).read();
    }
    await expect.poll(api.watching).toBe(4);
    kept.forget('n1');
    await expect.poll(api.watching).toBe(2);
    kept.forget('n2');
    await expect.poll(api.watching).toBe(0);
    await Promise.all([pods.stop(), csiNodes.stop()]);
  });

  it('not that the watches of new pods may have missed its pod, once a Node of that name counts as new', async () => {
    stopClock();
    const api = watchedObjects();
    const kept = perNode();
    const pods = watchStartupPods(api.run, api.client, { get: () => daemonSet }, kept, () => {});
    pods.watchNew([daemonSet]);
    await vi.advanceTimersByTimeAsync(0);
    const on = (name: string) => pods.beginStep({ name, createdAt: Date.now() + 60_000 }).read([CNI]);
    for (const node of ['n1', 'n2']) expect(on(node)).toEqual({ value: [] });
    await vi.advanceTimersByTimeAsync(60_000);
    kept.forget('n1');
    await vi.advanceTimersByTimeAsync(300_000);
    expect([on('n1'), on('n2')]).toEqual([{ value: [] }, 'Unread']);
    await pods.stop();
  });

  it('not that it asks what a taint waits for', async () => {
    const api = watchedObjects();
    const kept = perNode();
    const check = vi.fn<(node: string) => void>();
    const policies = policiesOf({ ensure: 'UntilReady', readyWhen: { daemonSets: [CNI] } });
    const rights = { permits: () => true, changes: createSubject() };
    const startup = startStartupWaits(api.run, {
      client: api.client,
      service: { namespace: 'kube-system', name: 'taintkeeper', port: 443 },
      daemonSets: NO_DAEMON_SETS,
      policies,
      rights,
      recordEvent: () => {},
      kept,
      check,
      onChange: () => {},
    });
    const { client, run } = api;
    const steps = rememberedSteps({ client, policies, startup, kept, onTurn: () => {}, signal: run.signal });
    for (const node of ['n1', 'n2']) steps.takeStep(nodeEntry(node, [TAINT]));
    kept.forget('n1');
    check.mockClear();
    rights.changes.next();
    expect(check.mock.calls).toEqual([['n2']]);
    await startup.stop();
  });

  it('neither its reboot, nor its place in the line for the write of its boot', () => {
    stopClock();
    const { client, run } = watchedObjects();
    const kept = perNode();
    const policies = policiesOf({
      ensure: 'UntilReady',
      readyWhen: { allocatable: [{ resource: 'example.com/gpu' }] },
      afterReboot: 'SetAgain',
    });
    const steps = rememberedSteps({
      client,
      policies,
      startup: { duringStep: (_node, step) => step(() => []) },
      kept,
      onTurn: () => {},
      signal: run.signal,
    });
    const entry = (name: string, bootId: string): Entry<ClusterNode> => {
      const bare = nodeEntry(name);
      return { ...bare, value: { ...bare.value, bootId, startupBoot: { bootId: 'A' } } };
    };
    const boot = (name: string) => steps.takeStep(entry(name, 'B'));
    for (const name of ['n1', 'n2'])
      steps.noteReboot({ type: 'modified', entry: entry(name, 'B'), previous: entry(name, 'A') });
    // It has the turn.
    boot('first');
    kept.forget('n1');
    expect([boot('n1'), boot('n2')].map(({ startup }) => startup.boot !== undefined)).toEqual([false, true]);
    const { nextInMs: behind = 0 } = boot('n3');
    kept.forget('n1');
    expect(boot('n3').nextInMs).toBeLessThan(behind);
  });
});
