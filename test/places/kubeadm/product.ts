import { join } from 'node:path';
import { INSTALL, NAMESPACE } from '../../../scripts/chart.ts';
import { helmPath } from '../../control-plane/helm.ts';
import type { ToolResult } from '../../control-plane/run-tool.ts';
import { waitUntil } from '../../control-plane/wait-until.ts';
import type { KubeadmCluster } from './cluster.ts';

const ROOT = join(import.meta.dirname, '..', '..', '..');
export const TIMEOUT_MS = 120_000;
const WAIT = `--timeout=${TIMEOUT_MS / 1000}s`;
const PATIENT = { timeoutMs: TIMEOUT_MS + 10_000 };
export const CONTROL_PLANE_TAINT = 'node-role.kubernetes.io/control-plane';
export const MASTER_TAINT = 'node-role.kubernetes.io/master';

/** Applies the manifest, as docs/install.md has it, and waits until all policies are Ready. */
export async function installProduct(cluster: KubeadmCluster): Promise<void> {
  await cluster.kubectl(['apply', '--filename', INSTALL]);
  await productReady(cluster);
}

/** Runs a command of a page of docs/ on the first machine, in this checkout. */
export async function runGuided(cluster: KubeadmCluster, command: string): Promise<void> {
  const line = command.replace(/^helm /, `${helmPath() ?? 'helm'} `);
  await cluster.machine('cp-1').run(['bash', '-c', `cd ${ROOT} && ${line}`], PATIENT);
}

/** Waits until both replicas are available, and all policies in force. */
export async function productReady(cluster: KubeadmCluster): Promise<void> {
  await cluster.kubectl(['--namespace', NAMESPACE, 'rollout', 'status', 'deployment/taintkeeper', WAIT], PATIENT);
  const created = ['taintpolicy/control-plane-taints', 'validatingwebhookconfiguration/taintkeeper'];
  await cluster.kubectl(['wait', '--for=create', ...created, WAIT], PATIENT);
  await cluster.kubectl(['wait', '--for=condition=Ready', 'taintpolicies,tolerationpolicies', '--all', WAIT], PATIENT);
}

/** What a user gets who tries to remove a taint; nothing is removed. */
function tryRemoval(
  cluster: KubeadmCluster,
  node: string,
  taint: string,
  ...options: readonly string[]
): Promise<ToolResult> {
  return cluster.tryKubectl(['taint', 'node', node, `${taint}-`, '--dry-run=server', ...options]);
}

/**
 * Waits until the removal of a taint is denied by a policy. An API server that has just started cannot call the webhook before kube-proxy has rules on
 * its machine.
 * @param options of kubectl
 * @returns what is denied, from the message
 */
export async function removalDenied(
  cluster: KubeadmCluster,
  node: string,
  taint: string,
  ...options: readonly string[]
): Promise<string> {
  let last = '';
  return waitUntil(
    async () => {
      const { code, stdout, stderr } = await tryRemoval(cluster, node, taint, ...options);
      last = (stderr + stdout).trim();
      return code === 0 ? undefined : /node \S+: removing taint \S+ is not allowed/.exec(last)?.[0];
    },
    { timeoutMs: TIMEOUT_MS, otherwise: () => `the removal of ${taint} from ${node} is not denied: ${last}` },
  );
}

/** Waits until `taintkeeper doctor` finds nothing wrong. @returns its line that says so */
export async function doctorContent(cluster: KubeadmCluster): Promise<string> {
  let last = '';
  return waitUntil(
    async () => {
      const { code, stdout, stderr } = await cluster.taintkeeper('doctor');
      last = stdout + stderr;
      return code === 0 ? (/^healthy.*$/m.exec(last)?.[0] ?? last.trim()) : undefined;
    },
    { timeoutMs: TIMEOUT_MS, otherwise: () => `doctor finds something: ${last}` },
  );
}

/** The taints of a node, as `key:effect`, without those that Kubernetes sets for conditions. */
export async function taintsOf(cluster: KubeadmCluster, node: string): Promise<string[]> {
  const path = 'jsonpath={range .spec.taints[*]}{.key}:{.effect}{"\\n"}{end}';
  const listed = (await cluster.kubectl(['get', 'node', node, '--output', path])).split('\n').filter(Boolean);
  return listed.filter((taint) => !taint.startsWith('node.kubernetes.io/'));
}

/** Waits until nodes are registered and Ready. `kubeadm join` ends earlier than that. */
export async function nodesReady(cluster: KubeadmCluster, ...names: readonly string[]): Promise<void> {
  const nodes = names.map((name) => `node/${name}`);
  await cluster.kubectl(['wait', '--for=create', ...nodes, WAIT], PATIENT);
  await cluster.kubectl(['wait', '--for=condition=Ready', ...nodes, WAIT], PATIENT);
}

interface PodList {
  readonly items: readonly {
    readonly metadata: { readonly name: string; readonly deletionTimestamp?: string };
    readonly status: { readonly conditions?: readonly { readonly type: string; readonly status: string }[] };
  }[];
}

/** Waits until every pod of the cluster is Ready. */
export async function podsReady(cluster: KubeadmCluster): Promise<void> {
  let last = '';
  await waitUntil(
    async () => {
      const { items } = JSON.parse(
        await cluster.kubectl(['get', 'pods', '--all-namespaces', '--output', 'json']),
      ) as PodList;
      const waiting = items.filter(
        ({ metadata, status }) =>
          metadata.deletionTimestamp !== undefined ||
          !status.conditions?.some(({ type, status: value }) => type === 'Ready' && value === 'True'),
      );
      last = waiting.map(({ metadata }) => metadata.name).join(', ');
      return waiting.length === 0 ? true : undefined;
    },
    { timeoutMs: TIMEOUT_MS, otherwise: () => `pods are not Ready: ${last}` },
  );
}
