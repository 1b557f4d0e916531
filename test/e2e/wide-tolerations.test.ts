import { beforeAll, expect, it } from 'vitest';
import type { WideToleration } from '../../src/coverage/findings/wide-tolerations.ts';
import { STRATEGIC_MERGE_PATCH } from '../control-plane/content-types.ts';
import { describeWithControlPlane } from '../control-plane/describe-with-control-plane.ts';
import { admin } from '../control-plane/users.ts';
import { waitUntil } from '../control-plane/wait-until.ts';
import { runCoverage } from './coverage-command.ts';
import { allTaintsOf, attempt, path } from './nodes.ts';

const TIMEOUT_MS = 30_000;
const NAMESPACE = 'team';
const CORDONED = 'node.kubernetes.io/unschedulable:NoSchedule';

const noExecute = (key: string) => ({ key, operator: 'Exists', effect: 'NoExecute' });
/** The tolerations of Deployments; those of Calico's Typha and operator are what their manifests have. */
const DEPLOYMENTS: Readonly<Record<string, readonly object[]>> = {
  plain: [],
  typha: [
    { key: 'CriticalAddonsOnly', operator: 'Exists' },
    { effect: 'NoSchedule', operator: 'Exists' },
    { effect: 'NoExecute', operator: 'Exists' },
  ],
  operator: [{ operator: 'Exists' }],
  impatient: [
    { key: 'node.kubernetes.io/unschedulable', operator: 'Exists', effect: 'NoSchedule' },
    { ...noExecute('node.kubernetes.io/not-ready'), tolerationSeconds: 1 },
    { ...noExecute('node.kubernetes.io/unreachable'), tolerationSeconds: 1 },
  ],
};

interface Pod {
  readonly metadata: {
    readonly name: string;
    readonly labels: { readonly app: string };
    readonly deletionTimestamp?: string;
  };
  readonly spec: { readonly nodeName?: string };
  readonly status: { readonly conditions?: readonly { readonly type: string; readonly status: string }[] };
}

describeWithControlPlane(
  'coverage agrees with the scheduler and the taint manager',
  // The node has no kubelet whose heartbeats could be missed.
  { components: ['kube-controller-manager', 'kube-scheduler'], nodeMonitorGraceSeconds: 600 },
  (cp) => {
    const create = async (url: string, body: object) =>
      expect((await attempt(cp(), admin, 'POST', url, body)).error).toBe('');
    const setReady = async (node: string, status: 'True' | 'False') => {
      const conditions = [{ type: 'Ready', status, reason: 'Test', lastHeartbeatTime: new Date().toISOString() }];
      const room = { pods: node === 'full' ? '0' : '110', cpu: '8', memory: '32Gi' };
      const body = { status: { conditions, capacity: room, allocatable: room } };
      expect((await attempt(cp(), admin, 'PATCH', `${path(node)}/status`, body, STRATEGIC_MERGE_PATCH)).error).toBe('');
    };
    const pods = async () => {
      const { body } = await cp().request<{ items: Pod[] }>(admin, 'GET', `/api/v1/namespaces/${NAMESPACE}/pods`);
      return body.items;
    };
    /** The Deployments of these pods. */
    const appsOf = (found: readonly Pod[]) => [...new Set(found.map(({ metadata }) => metadata.labels.app))].sort();
    const reported = async (...args: readonly string[]) => {
      const { code, stdout, stderr } = await runCoverage(cp(), '-o', 'json', ...args);
      expect({ code, stderr }).toEqual({ code: 0, stderr: '' });
      return (JSON.parse(stdout) as { wideTolerations: WideToleration[] }).wideTolerations;
    };
    const named = (wide: readonly WideToleration[], field: 'returnsTo' | 'staysOn') =>
      [...new Set(wide.filter((one) => one[field].length > 0).map(({ name }) => name))].sort();

    beforeAll(async () => {
      await create('/api/v1/nodes', { metadata: { name: 'drained' }, spec: { unschedulable: true } });
      // Where no node is Ready, Kubernetes evicts nobody. This one is, and takes no pods.
      await create('/api/v1/nodes', { metadata: { name: 'full' } });
      for (const node of ['drained', 'full']) await setReady(node, 'True');
      await waitUntil(async () => (await allTaintsOf(cp(), 'drained')).join() === CORDONED || undefined, {
        timeoutMs: TIMEOUT_MS,
        otherwise: () => 'the node has other taints than that of a cordon',
      });
      await create('/api/v1/namespaces', { metadata: { name: NAMESPACE } });
      for (const [name, tolerations] of Object.entries(DEPLOYMENTS)) {
        const labels = { app: name };
        const podSpec = { containers: [{ name: 'c', image: 'example.com/c:1' }], tolerations };
        await create(`/apis/apps/v1/namespaces/${NAMESPACE}/deployments`, {
          metadata: { name },
          spec: {
            strategy: { type: 'Recreate' },
            selector: { matchLabels: labels },
            template: { metadata: { labels }, spec: podSpec },
          },
        });
      }
    });

    it('on which workloads return to a drained node', async () => {
      const isDecided = ({ status }: Pod) => status.conditions?.some(({ type }) => type === 'PodScheduled') ?? false;
      await expect
        .poll(async () => appsOf((await pods()).filter(isDecided)), { timeout: TIMEOUT_MS })
        .toEqual(Object.keys(DEPLOYMENTS).sort());
      const returned = appsOf((await pods()).filter(({ spec }) => spec.nodeName === 'drained'));
      expect(returned).toEqual(['impatient', 'operator', 'typha']);
      expect(named(await reported(), 'returnsTo')).toEqual(returned);
    });

    it('and on which stay bound to it when it is dead', async () => {
      await setReady('drained', 'False');
      const isBound = ({ spec, metadata }: Pod) => spec.nodeName === 'drained' && !metadata.deletionTimestamp;
      await expect
        .poll(async () => appsOf((await pods()).filter(isBound)), { timeout: TIMEOUT_MS })
        .toEqual(['operator', 'typha']);
      expect(named(await reported(), 'staysOn')).toEqual(['operator', 'typha']);
    });

    it('and names none that was changed as it says', async () => {
      const { change } = (await reported()).find(({ name }) => name === 'operator') ?? {};
      expect(change).toBe('replace it with tolerations that each name a key');
      const tolerations = [{ key: 'node-role.kubernetes.io/control-plane', operator: 'Exists', effect: 'NoSchedule' }];
      const patch = JSON.stringify([{ op: 'replace', path: '/spec/template/spec/tolerations', value: tolerations }]);
      const { code, stderr } = await cp().kubectl([
        'patch',
        'deployment',
        'operator',
        '-n',
        NAMESPACE,
        '--type=json',
        '-p',
        patch,
      ]);
      expect(code, stderr).toBe(0);
      expect(named(await reported(), 'returnsTo')).toEqual(['impatient', 'typha']);
    });
  },
);
