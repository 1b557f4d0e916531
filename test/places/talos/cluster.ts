import { mkdirSync } from 'node:fs';
import { join } from 'node:path';
import { cacheFolder, lockedVersion } from '../../control-plane/go-modules.ts';
import { KUBERNETES } from '../../control-plane/kubernetes.ts';
import { PROGRAM } from '../../control-plane/program.ts';
import type { ToolResult } from '../../control-plane/run-tool.ts';
import { waitUntil } from '../../control-plane/wait-until.ts';
import { hasUnifiedCgroups } from '../../real-node/cgroups.ts';
import { ON_SHARED_DISK } from '../../real-node/node-files.ts';
import { edited } from './edits.ts';
import { provideTalosImages } from './images.ts';
import type { TalosLab } from './lab.ts';
import { LAB, type Machine } from './machine.ts';
import { lowersOomScores } from './programs.ts';
import { readContext, writeTalosconfig } from './talosconfigs.ts';

const KUBERNETES_VERSION = lockedVersion(KUBERNETES, 'kube-apiserver').slice(1);
const REGISTRY_PORT = 5000;
const UP_TIMEOUT_MS = 300_000;

/** Machines without a network of pods: no CNI, no kube-proxy, no CoreDNS. */
const PATCH = `
machine:
  install:
    $patch: delete
  kubelet:
    image: ghcr.io/siderolabs/kubelet:v${KUBERNETES_VERSION}
    extraConfig: ${JSON.stringify({ ...(hasUnifiedCgroups() ? {} : { failCgroupV1: false }), ...ON_SHARED_DISK })}
${
  lowersOomScores()
    ? ''
    : `  files:
    - path: /etc/cri/conf.d/20-customization.part
      op: create
      content: |
        [plugins."io.containerd.cri.v1.runtime"]
          restrict_oom_score_adj = true
`
}
cluster:
  network:
    cni:
      name: none
  proxy:
    disabled: true
  coreDNS:
    disabled: true
  discovery:
    enabled: false
---
apiVersion: v1alpha1
kind: RegistryMirrorConfig
name: "*"
endpoints:
  - url: http://${LAB}:${REGISTRY_PORT}
skipFallback: true
`;

/** One control plane and one worker. */
export interface TalosCluster {
  readonly controlPlane: Machine;
  readonly worker: Machine;
  /** The configurations that they were booted with. */
  readonly configurations: { readonly controlPlane: string; readonly worker: string };
  readonly talosconfig: string;
  readonly kubeconfig: string;
  /** Runs talosctl, with both machines within reach. @throws Error with what it printed when it fails */
  talosctl(args: readonly string[]): Promise<string>;
  /** Runs kubectl as an administrator. @throws Error with what it printed when it fails */
  kubectl(args: readonly string[], input?: string): Promise<string>;
  node(machine: Machine): Promise<NodeObject>;
  /** Waits until a node is so. @throws Error with the node after two minutes */
  nodeIs(machine: Machine, is: (node: NodeObject) => boolean, what: string): Promise<NodeObject>;
  taintkeeper(args: readonly string[]): Promise<ToolResult>;
  /** Applies manifests/install.yaml, and runs a replica in the lab in place of the pods. Resolves when the default policies are in force. */
  install(manifest: string): Promise<void>;
}

export interface NodeObject {
  readonly metadata: {
    readonly labels: Readonly<Record<string, string>>;
    readonly annotations: Readonly<Record<string, string>>;
  };
  readonly spec: {
    readonly taints?: readonly { readonly key: string; readonly value?: string; readonly effect: string }[];
  };
}

interface Deployment {
  readonly spec: {
    readonly template: { readonly spec: { readonly containers: readonly { readonly args: readonly string[] }[] } };
  };
}

const NODE_TIMEOUT_MS = 120_000;

/**
 * Boots both, and resolves when their Nodes are there.
 *
 * @param worker what differs in the worker's configuration, by path
 */
export async function startTalosCluster(
  lab: TalosLab,
  worker: Readonly<Record<string, unknown>>,
): Promise<TalosCluster> {
  const images = lab.workspace.path('images');
  mkdirSync(images);
  provideTalosImages(images);
  const registry = [process.execPath, join(import.meta.dirname, 'registry.ts'), images, LAB, `${REGISTRY_PORT}`];
  await lab.start('registry', registry, 'listening');

  const generated = await lab.generate('own', { patches: [PATCH], kubernetes: KUBERNETES_VERSION });
  const configurations = {
    controlPlane: generated.controlPlane,
    worker: edited(generated.worker, { set: worker }),
  };
  const machines = { controlPlane: lab.machine('cp1', 1), worker: lab.machine('w1', 2) };
  await Promise.all([
    machines.controlPlane.boot(configurations.controlPlane),
    machines.worker.boot(configurations.worker),
  ]);
  const { address } = machines.controlPlane;
  const talosconfig = writeTalosconfig(lab.workspace, 'admin', {
    ...readContext(generated.talosconfig),
    endpoints: [address],
    nodes: [address],
  });
  const talosctl = (args: readonly string[]) => lab.talosctl(['--talosconfig', talosconfig, ...args]);
  await until('etcd does not start', () => talosctl(['bootstrap']));
  const kubeconfig = lab.workspace.path('kubeconfig');
  await until('there is no kubeconfig', () => talosctl(['kubeconfig', '--force', kubeconfig]));
  const kubectl = async (args: readonly string[], input?: string) => {
    const command = [join(cacheFolder(KUBERNETES), 'kubectl'), `--kubeconfig=${kubeconfig}`, ...args];
    const { code, stdout, stderr } = await lab.run(command, input === undefined ? {} : { input });
    if (code !== 0) throw new Error(`kubectl ${args.join(' ')}: ${stderr || stdout}`);
    return stdout;
  };
  const node = async ({ name }: Machine) =>
    JSON.parse(await kubectl(['get', 'node', name, '-o', 'json'])) as NodeObject;
  for (const machine of Object.values(machines))
    await until(`node ${machine.name} does not register`, () => node(machine));

  /** Tries until it does not fail. */
  async function until<T>(otherwise: string, act: () => Promise<T>): Promise<T> {
    let last: unknown;
    const attempt = () =>
      act().then(
        (value) => ({ value }),
        (error: unknown) => {
          last = error;
          return undefined;
        },
      );
    const { value } = await waitUntil(attempt, {
      timeoutMs: UP_TIMEOUT_MS,
      otherwise: () => `${otherwise}: ${last}\n${lab.logs()}`,
    });
    return value;
  }

  return {
    ...machines,
    configurations,
    talosconfig,
    kubeconfig,
    talosctl,
    kubectl,
    node,
    async nodeIs(machine, is, what) {
      let last: NodeObject | undefined;
      return waitUntil(
        async () => {
          last = await node(machine).catch(() => undefined);
          return last && is(last) ? last : undefined;
        },
        { timeoutMs: NODE_TIMEOUT_MS, otherwise: () => `node ${machine.name}: not ${what}: ${JSON.stringify(last)}` },
      );
    },
    taintkeeper: (args) => lab.taintkeeper(args, { env: { KUBECONFIG: kubeconfig } }),
    async install(manifest) {
      await kubectl(['apply', '--server-side', '-f', manifest]);
      // There is no network of pods. The API server reaches the Service at the lab, where this replica listens.
      const inNamespace = ['--namespace', 'taintkeeper'];
      await kubectl([...inNamespace, 'scale', 'deployment/taintkeeper', '--replicas=0']);
      const clusterIp = await kubectl([
        ...inNamespace,
        'get',
        'service/taintkeeper',
        '-o',
        'jsonpath={.spec.clusterIP}',
      ]);
      await lab.namespaces.run(['ip', 'address', 'add', `${clusterIp}/32`, 'dev', 'lo']);
      const deployment = await kubectl([...inNamespace, 'get', 'deployment/taintkeeper', '-o', 'json']);
      const [container] = (JSON.parse(deployment) as Deployment).spec.template.spec.containers;
      const args = [...(container?.args ?? []), '--kubeconfig', kubeconfig, '--port', '443'];
      const command = [process.execPath, PROGRAM, ...args];
      await lab.start('taintkeeper', command, '"msg":"serving"', { POD_NAME: 'lab' });
      const ready = ['wait', '--for=condition=Ready', 'taintpolicy/control-plane-taints', '--timeout=20s'];
      await until('the default policy is not in force', () => kubectl(ready));
    },
  };
}
