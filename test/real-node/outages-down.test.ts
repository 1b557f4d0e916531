import { afterAll, beforeAll, describe, expect, it, vi } from 'vitest';
import { NAMESPACE, RIGHTS } from '../../scripts/chart.ts';
import { admin } from '../control-plane/users.ts';
import { waitUntil } from '../control-plane/wait-until.ts';
import { skipFor } from '../skip-for.ts';
import { type Sent, startLoad } from './load.ts';
import { CNI_ASIDE, CNI_FILE, CNI_FOLDER } from './node-files.ts';
import { obstacleToRealNode } from './obstacle.ts';
import {
  installProduct,
  kubectl,
  policiesReady,
  productPods,
  productReady,
  readyPods,
  removeTaints,
} from './product.ts';
import { type RealCluster, startRealCluster } from './real-cluster.ts';

const CONTROL_PLANE = 'node-role.kubernetes.io/control-plane';
const TIMEOUT_MS = 120_000;
const DEPLOYMENT = ['deployment/taintkeeper', '-n', NAMESPACE];

/** Protects the taints of roles on all nodes, which makes the API server call the webhook for every removal of such a taint. */
const ROLE_TAINTS = {
  apiVersion: 'taintkeeper.dev/v1alpha1',
  kind: 'TaintPolicy',
  metadata: { name: 'role-taints' },
  spec: { mode: 'Deny', taints: [{ key: 'node-role.kubernetes.io/*' }] },
};

interface NodeObject {
  readonly spec: { readonly taints?: readonly { readonly key: string }[] };
  readonly status: { readonly conditions: readonly { readonly type: string; readonly lastHeartbeatTime: string }[] };
}

interface DaemonSet {
  readonly spec: { readonly template: { readonly spec: { readonly tolerations?: readonly { key: string }[] } } };
  readonly status: { readonly numberReady: number; readonly desiredNumberScheduled: number };
}

vi.setConfig({ testTimeout: 2 * TIMEOUT_MS });

describe('on real nodes, while no replica answers for the webhook', skipFor(obstacleToRealNode()), () => {
  let cluster: RealCluster;
  let duringInstallation: readonly Sent[];
  beforeAll(async () => {
    cluster = await startRealCluster({ nodes: 2 });
    await kubectl(cluster, ['label', 'node', 'n1', `${CONTROL_PLANE}=`]);
    await kubectl(cluster, ['taint', 'node', 'n1', `${CONTROL_PLANE}:NoSchedule`]);
    const load = startLoad(cluster);
    await installProduct(cluster);
    duringInstallation = await load.stop();
    await kubectl(cluster, ['apply', '-f', '-'], JSON.stringify(ROLE_TAINTS));
    await policiesReady(cluster);
  });
  afterAll(() => cluster?.stop());

  it('nothing is refused while it is installed: it is registered once the API server reaches it', async () => {
    expect(duringInstallation.filter(({ outcome }) => outcome === 'failed' || outcome === 'wrong')).toEqual([]);
    await isProtected();
  });

  it('kubelets that start again, and say how their nodes are, never reach it', async () => {
    const before = await webhookCalls();
    const killedAt = Date.now();
    for (const node of cluster.nodes) node.service('kubelet').signal('SIGKILL');
    await Promise.all(cluster.nodes.map(({ name }) => heardFrom(name, killedAt)));
    expect(await webhookCalls()).toBe(before);
    // Otherwise the count shows nothing.
    await removeTaints(cluster, 'n1');
    expect(await webhookCalls()).toBeGreaterThan(before);
  });

  describe('without replicas', () => {
    beforeAll(async () => {
      await kubectl(cluster, ['scale', ...DEPLOYMENT, '--replicas=0']);
      await productReady(cluster, 0);
    });

    it('a node joins, gets ready, and loses the taints of its start', async () => {
      await kubectl(cluster, ['delete', 'node', 'n2']);
      cluster.nodes[1]?.service('kubelet').signal('SIGKILL');
      await cluster.nodeReady('n2');
      await waitUntil(async () => ((await node('n2')).spec.taints === undefined ? true : undefined), {
        timeoutMs: TIMEOUT_MS,
        otherwise: () => 'it keeps a taint of its start',
      });
      expect(await removeTaints(cluster, 'n1')).toMatchObject({ status: 500 });
    });

    it('a CNI is created and updated as it is', async () => {
      await kubectl(cluster, ['apply', '-f', '-'], JSON.stringify(daemonSet('kube-flannel', ['sleep', 'infinity'])));
      await kubectl(cluster, ['set', 'env', 'daemonset/kube-flannel', '-n', 'kube-system', 'CHANGED=1']);
      await runsOn('kube-flannel', 1);
      expect((await cni('kube-flannel')).spec.template.spec.tolerations).toBeUndefined();
    });
  });

  it('all of that is made good once it answers again', async () => {
    await kubectl(cluster, ['scale', ...DEPLOYMENT, '--replicas=2']);
    await productReady(cluster, 2);
    // What comes before kube-proxy knows them is missed, and reported.
    await isProtected();
    await waitUntil(
      async () => {
        const path = '/apis/taintkeeper.dev/v1alpha1/tolerationpolicies/cni-tolerations';
        const { body } = await cluster.request<{ status?: { violating?: number } }>(admin, 'GET', path);
        return body.status?.violating === 1 ? true : undefined;
      },
      { timeoutMs: TIMEOUT_MS, otherwise: () => 'the status of the policy does not count the CNI as violating' },
    );
    await kubectl(cluster, ['set', 'env', 'daemonset/kube-flannel', '-n', 'kube-system', 'CHANGED=2']);
    await runsOn('kube-flannel', 2);
  });

  it('a CNI that was lost together with taintkeeper runs on all nodes again, though it tolerates too little', async () => {
    await kubectl(cluster, ['apply', '-f', RIGHTS.patchDaemonSets]);
    const spec = { existing: 'Patch' };
    await kubectl(cluster, [
      'patch',
      'tolerationpolicy',
      'cni-tolerations',
      '--type=merge',
      '-p',
      JSON.stringify({ spec }),
    ]);
    await policiesReady(cluster);
    await Promise.all(cluster.nodes.map((one) => one.setCni('aside')));
    await kubectl(cluster, ['delete', 'pods', '--all', '-n', NAMESPACE, '--wait=false']);
    await waitUntil(async () => (readyPods(await productPods(cluster)).length === 0 ? true : undefined), {
      timeoutMs: TIMEOUT_MS,
      otherwise: () => 'a replica is still ready',
    });
    // It puts the network's configuration in its place, as CNIs do.
    const install = `mv /cni/${CNI_ASIDE} /cni/${CNI_FILE}; sleep infinity`;
    // Without it, no CNI would come to a node that is not ready. This one does not tolerate the taint of the control plane.
    const tolerations = [{ key: 'node.kubernetes.io/not-ready', operator: 'Exists', effect: 'NoSchedule' }];
    const cilium = daemonSet('cilium', ['sh', '-c', install], tolerations);
    await kubectl(cluster, ['apply', '-f', '-'], JSON.stringify(cilium));
    await Promise.all(cluster.nodes.map(({ name }) => cluster.nodeReady(name)));
    await productReady(cluster, 2);
    await runsOn('cilium', 2);
    await isProtected();
  });

  async function isProtected(): Promise<void> {
    await waitUntil(async () => ((await removeTaints(cluster, 'n1')).status === 403 ? true : undefined), {
      timeoutMs: TIMEOUT_MS,
      otherwise: () => 'the taint is not protected',
    });
  }

  /** A CNI that tolerates nothing but these taints and those that the DaemonSet controller adds. */
  function daemonSet(name: string, args: readonly string[], tolerations?: readonly object[]): object {
    const labels = { app: name };
    const container = {
      name: 'cni',
      image: 'localhost/busybox:1',
      args,
      volumeMounts: [{ name: 'cni', mountPath: '/cni' }],
    };
    const volumes = [{ name: 'cni', hostPath: { path: CNI_FOLDER } }];
    return {
      apiVersion: 'apps/v1',
      kind: 'DaemonSet',
      metadata: { name, namespace: 'kube-system' },
      spec: {
        selector: { matchLabels: labels },
        template: {
          metadata: { labels },
          spec: { hostNetwork: true, terminationGracePeriodSeconds: 1, containers: [container], tolerations, volumes },
        },
      },
    };
  }

  async function cni(name: string): Promise<DaemonSet> {
    const path = `/apis/apps/v1/namespaces/kube-system/daemonsets/${name}`;
    return (await cluster.request<DaemonSet>(admin, 'GET', path)).body;
  }

  async function runsOn(name: string, nodes: number): Promise<void> {
    let last: unknown;
    await waitUntil(
      async () => {
        const { status } = await cni(name);
        last = status;
        return status.numberReady === nodes && status.desiredNumberScheduled === nodes ? true : undefined;
      },
      { timeoutMs: TIMEOUT_MS, otherwise: () => `${name} does not run on ${nodes} nodes: ${JSON.stringify(last)}` },
    );
  }

  async function node(name: string): Promise<NodeObject> {
    return (await cluster.request<NodeObject>(admin, 'GET', `/api/v1/nodes/${name}`)).body;
  }

  async function heardFrom(name: string, since: number): Promise<void> {
    await waitUntil(
      async () => {
        const { status } = await node(name);
        const ready = status.conditions.find(({ type }) => type === 'Ready');
        return Date.parse(ready?.lastHeartbeatTime ?? '') > since ? true : undefined;
      },
      {
        timeoutMs: TIMEOUT_MS,
        otherwise: () => `the kubelet of ${name} has not reported its status since it was killed`,
      },
    );
  }

  /** How often the API server has called a webhook: there are no others than its own. */
  async function webhookCalls(): Promise<number> {
    const metrics = await kubectl(cluster, ['get', '--raw', '/metrics']);
    const lines = metrics.split('\n').filter((line) => line.startsWith('apiserver_admission_webhook_request_total{'));
    return lines.reduce((sum, line) => sum + Number(line.split(' ').at(-1)), 0);
  }
});
