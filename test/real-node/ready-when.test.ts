import { afterAll, beforeAll, describe, expect, it, vi } from 'vitest';
import { RIGHTS } from '../../scripts/chart.ts';
import { STRATEGIC_MERGE_PATCH } from '../control-plane/content-types.ts';
import type { Version } from '../control-plane/follow.ts';
import { succeeded } from '../control-plane/rest.ts';
import { admin } from '../control-plane/users.ts';
import { waitUntil } from '../control-plane/wait-until.ts';
import { daemonSetManifest } from '../e2e/daemon-sets.ts';
import { skipFor } from '../skip-for.ts';
import { type Conditioned, isReady } from './conditions.ts';
import { killLeader } from './measure/health.ts';
import { obstacleToRealNode } from './obstacle.ts';
import { kubectl } from './product.ts';
import type { Service } from './service.ts';
import { isTainted, type Node, startWaitingNode, type WaitingNode } from './waiting-node.ts';

const TIMEOUT_MS = 60_000;
/** The resource, and the taint that waits for it. */
const GPU = 'example.com/gpu';
const CONDITION = 'example.com/AgentReady';
const AGENT = 'example.com/agent';
const DAEMONS = 'example.com/daemons';
const LATE = 'example.com/late';
/** Longer than the node takes to register and another replica to lead. */
const DEADLINE_SECONDS = 60;
const READY_WHEN = {
  [GPU]: { allocatable: [{ resource: GPU }] },
  [AGENT]: { conditions: [{ type: CONDITION }] },
  [DAEMONS]: { allDaemonSets: { namespaces: ['agents'] } },
  [LATE]: {
    conditions: [{ type: 'example.com/Never' }],
    progressDeadlineSeconds: DEADLINE_SECONDS,
    afterDeadline: 'Remove',
  },
};
/** On the node. */
const FLAGS = '/run/flags';

interface Pod {
  readonly metadata: { readonly namespace: string };
  readonly status?: Conditioned & { readonly phase: string };
}

vi.setConfig({ testTimeout: 240_000 });

describe('a real node that registers with startup taints', skipFor(obstacleToRealNode()), () => {
  let node: WaitingNode;
  let pods: readonly Version<Pod>[];
  let plugin: Service | undefined;
  /** When another replica than the first leads. */
  let nextLeadsAt: number;

  beforeAll(async () => {
    node = await startWaitingNode({ rights: [RIGHTS.listPods], readyWhen: READY_WHEN });
    pods = await node.follow<Pod>('/api/v1/pods');
    await node.deregister();
    await createDaemonSet('agents', 'agent');
    // Its pod never gets Ready.
    await createDaemonSet('tenant', 'broken');
    await node.register();
  }, 300_000);
  afterAll(() => node?.stop());

  /** Its pod on the node is Ready once the node has a file of its name in {@link FLAGS}. */
  async function createDaemonSet(namespace: string, name: string): Promise<void> {
    await kubectl(node.cluster, ['create', 'namespace', namespace]);
    const container = {
      ...{ name: 'sleep', image: 'localhost/busybox:1' },
      readinessProbe: { exec: { command: ['/bin/busybox', 'test', '-e', `${FLAGS}/${name}`] }, periodSeconds: 1 },
      volumeMounts: [{ name: 'flags', mountPath: FLAGS }],
    };
    const manifest = daemonSetManifest(namespace, name, {
      nodeSelector: { 'kubernetes.io/hostname': node.machine.name },
      tolerations: [{ operator: 'Exists' }],
      containers: [container],
      volumes: [{ name: 'flags', hostPath: { path: FLAGS, type: 'DirectoryOrCreate' } }],
    });
    await kubectl(node.cluster, ['apply', '-f', '-'], JSON.stringify(manifest));
  }

  /** As an agent on the node does. */
  async function setCondition(status: 'True' | 'False'): Promise<void> {
    const conditions = [{ type: CONDITION, status, reason: 'Agent', message: 'set by the agent' }];
    await succeeded(
      node.cluster.request(admin, 'PATCH', `/api/v1/nodes/${node.machine.name}/status`, {
        body: { status: { conditions } },
        contentType: STRATEGIC_MERGE_PATCH,
      }),
    );
  }

  const conditionOf = ({ status }: Node) => status.conditions?.find(({ type }) => type === CONDITION)?.status;
  const keysOf = (of: Node | undefined) => Object.keys(READY_WHEN).filter((key) => of && isTainted(of, key));

  function first<T>(versions: readonly Version<T>[], isSo: (one: T) => boolean): Promise<Version<T>> {
    return waitUntil(() => versions.find(({ value }) => isSo(value)), {
      timeoutMs: TIMEOUT_MS,
      otherwise: () => `it is not so: ${JSON.stringify(versions.at(-1)?.value)}\n${plugin?.log()}`,
    });
  }

  /** It is removed after the version of an object with which `readyWhen` holds, and those that still wait stay. */
  async function expectRemovedAfter(ready: Version<unknown>, key: string, staying: readonly string[]): Promise<void> {
    const untainted = await node.untainted(key);
    expect(ready.resourceVersion).toBeLessThan(untainted.resourceVersion);
    expect(keysOf(untainted.value)).toEqual(expect.arrayContaining([...staying]));
  }

  it('keeps all while nothing is ready, also under the next leader', async () => {
    await node.waitsFor(`resource ${GPU}: the node has none that is allocatable`);
    await node.waitsFor(`condition ${CONDITION}=True: the node does not have it`);
    await node.waitsFor('DaemonSet agents/agent: its pod is not Ready');
    expect(keysOf(node.versions.at(-1)?.value)).toEqual(Object.keys(READY_WHEN));
    const killed = await killLeader(node.cluster);
    const leading = killed.nextLeads().then(() => Date.now());
    plugin = node.machine.startDevicePlugin(GPU);
    await setCondition('False');
    // The pods of both DaemonSets run.
    for (const namespace of ['agents', 'tenant']) {
      await first(pods, ({ metadata, status }) => metadata.namespace === namespace && status?.phase === 'Running');
    }
    await first(node.versions, ({ status }) => status.allocatable?.[GPU] === '0');
    nextLeadsAt = await leading;
    await node.waitsFor(`condition ${CONDITION}=True: it is False`);
    const waiting = [GPU, AGENT, DAEMONS];
    expect(keysOf(node.versions.at(-1)?.value)).toEqual(expect.arrayContaining(waiting));
  });

  it('allocatable: loses it when the device plugin has reported a healthy device', async () => {
    plugin?.signal('SIGUSR2');
    const offered = await first(node.versions, ({ status }) => Number(status.allocatable?.[GPU] ?? 0) > 0);
    await expectRemovedAfter(offered, GPU, [AGENT, DAEMONS]);
  });

  it('conditions: loses it when the condition is True', async () => {
    await setCondition('True');
    const isTrue = await first(node.versions, (one) => conditionOf(one) === 'True');
    await expectRemovedAfter(isTrue, AGENT, [DAEMONS]);
  });

  it('allDaemonSets: loses it when the pod of the namespace is Ready, though another is not', async () => {
    await node.machine.run(['touch', `${FLAGS}/agent`]);
    const ready = await first(pods, ({ metadata, status }) => metadata.namespace === 'agents' && isReady(status));
    await expectRemovedAfter(ready, DAEMONS, []);
    expect(pods.some(({ value }) => value.metadata.namespace === 'tenant' && isReady(value.status))).toBe(false);
  });

  it('afterDeadline: loses it after the deadline, which the next leader does not count from its own start', async () => {
    const untainted = await node.untainted(LATE);
    const deadlineMs = DEADLINE_SECONDS * 1_000;
    expect(untainted.at - Date.parse(untainted.value.metadata.creationTimestamp)).toBeGreaterThanOrEqual(deadlineMs);
    expect(untainted.at).toBeGreaterThan(nextLeadsAt);
    // Less by what `nextLeadsAt` may be late.
    expect(untainted.at - nextLeadsAt).toBeLessThan(deadlineMs - 1_000);
  });
});
