import { existsSync, mkdirSync } from 'node:fs';
import { join } from 'node:path';
import { type AccessDesk, createAccessDesk } from '../control-plane/access.ts';
import { waitForControllers, waitForNamespaces } from '../control-plane/bootstrap.ts';
import { createAuthority, type KeyPair, serviceAccountKey } from '../control-plane/credentials.ts';
import { cacheFolder } from '../control-plane/go-modules.ts';
import { type KubectlResult, runKubectl } from '../control-plane/kubectl.ts';
import { KUBERNETES } from '../control-plane/kubernetes.ts';
import { nodeProgramFolders } from '../control-plane/node-programs.ts';
import { type Answer, type Payload, succeeded } from '../control-plane/rest.ts';
import { admin, node as nodeUser, type User } from '../control-plane/users.ts';
import { waitUntil } from '../control-plane/wait-until.ts';
import { createWorkspace, type Workspace } from '../control-plane/workspace.ts';
import { API_ADDRESS, API_PORT, nodeAddress, nodeName } from './addresses.ts';
import { cgroupOf, sweepCgroups } from './cgroups.ts';
import { isReady } from './conditions.ts';
import { type ControlPlaneFiles, controlPlaneCommands } from './control-plane-services.ts';
import { provideImages } from './images.ts';
import { makeNamespaces, type Namespaces } from './namespaces.ts';
import { layWire } from './network.ts';
import { API_ADDRESSES, API_NAMES, type ProxyMode } from './node-files.ts';
import { obstacleToRealNode } from './obstacle.ts';
import { createRealNode, type ImageAlias, type RealNode } from './real-node.ts';
import { startRelay } from './relay.ts';

const READY_TIMEOUT_MS = 120_000;
const DISK_MIB = 512;

export interface RealClusterOptions {
  readonly nodes?: number;
  /** An archive of the product's image; without it, the Dockerfile is built. */
  readonly productImage?: string | undefined;
  /** Archives of further images that the nodes have. */
  readonly moreImages?: readonly string[];
  /** Other names by which the nodes have images. */
  readonly imageAliases?: readonly ImageAlias[];
  readonly proxyMode?: ProxyMode;
  /** Further arguments of the API server. */
  readonly apiServerArgs?: readonly string[];
  /** How large the disk of each node is, in MiB, on which the kubelet keeps its pods. */
  readonly diskMiB?: number;
  /** Fields of all kubelets' configuration. */
  readonly kubeletConfig?: Readonly<Record<string, unknown>>;
}

/** Nodes with kubelet, containerd and kube-proxy, the first with a control plane; in namespaces that end with this process. */
export interface RealCluster {
  readonly nodes: readonly RealNode[];
  kubectl(args: readonly string[], options?: { user?: User; input?: string }): Promise<KubectlResult>;
  kubeconfigFile(user: User): Promise<string>;
  request<T = unknown>(user: User, method: string, path: string, payload?: Payload): Promise<Answer<T>>;
  /** Waits until the Node is there and Ready. @throws Error with its conditions when that takes two minutes */
  nodeReady(name: string): Promise<void>;
  stop(): Promise<void>;
  [Symbol.asyncDispose](): Promise<void>;
}

/** @throws Error when one cannot run here, or does not get ready; then nothing is left */
export async function startRealCluster(options: RealClusterOptions = {}): Promise<RealCluster> {
  const obstacle = obstacleToRealNode();
  if (obstacle) throw new Error(obstacle);
  const report = (line: string) => process.stderr.write(`${line}\n`);
  const images = [...provideImages(report, options.productImage), ...(options.moreImages ?? [])];
  sweepCgroups();
  const workspace = createWorkspace('real-node');
  const lab = await makeNamespaces('lab', workspace.logFile('lab'));
  const cleanUp: (() => Promise<void> | void)[] = [() => workspace.remove(), () => lab.end()];
  const stop = async () => {
    const errors: unknown[] = [];
    for (const step of cleanUp.splice(0).reverse()) {
      try {
        await step();
      } catch (error) {
        errors.push(error);
      }
    }
    if (errors.length > 0) throw new AggregateError(errors, `the cluster did not end in good order: ${errors}`);
  };
  try {
    return await start({ options, images, workspace, lab, cleanUp, stop });
  } catch (error) {
    await stop().catch((again) => report(`${again}`));
    throw error;
  }
}

interface Site {
  readonly options: RealClusterOptions;
  readonly images: readonly string[];
  readonly workspace: Workspace;
  readonly lab: Namespaces;
  readonly cleanUp: (() => Promise<void> | void)[];
  readonly stop: () => Promise<void>;
}

async function start({ options, images, workspace, lab, cleanUp, stop }: Site): Promise<RealCluster> {
  const count = options.nodes ?? 1;
  await layWire(lab);
  const authority = await createAuthority();
  const relay = await startRelay(
    lab,
    { host: API_ADDRESS, port: API_PORT },
    workspace.path('api.sock'),
    workspace.logFile('relay'),
  );
  cleanUp.push(relay.stop);
  const desk = createAccessDesk(`https://127.0.0.1:${relay.port}`, authority, workspace);
  cleanUp.push(desk.close);
  const kubeconfig = kubeconfigs(desk);
  const write = (name: string, { cert, key }: KeyPair) => ({
    cert: workspace.write(`${name}.crt`, cert),
    key: workspace.write(`${name}.key`, key),
  });

  const ca = workspace.write('ca.crt', authority.cert);
  const controlPlane: ControlPlaneFiles = {
    ca,
    apiServer: write('apiserver', await authority.serving({ names: API_NAMES, addresses: API_ADDRESSES })),
    kubeletClient: write('kubelet-client', await authority.client(admin)),
    serviceAccountKey: workspace.write('service-account.key', serviceAccountKey()),
    etcdData: workspace.path('etcd'),
    controllerManager: await kubeconfig('system:kube-controller-manager'),
    scheduler: await kubeconfig('system:kube-scheduler'),
  };
  const nodes = await Promise.all(
    Array.from({ length: count }, async (_, index) => {
      const number = index + 1;
      const folder = workspace.path(nodeName(number));
      mkdirSync(folder);
      const cgroup = cgroupOf(nodeName(number));
      const serving = await authority.serving({ names: [nodeName(number)], addresses: [nodeAddress(number)] });
      return createRealNode({
        number,
        nodes: count,
        lab,
        diskMiB: options.diskMiB ?? DISK_MIB,
        folder,
        logFile: workspace.logFile,
        program: findProgram,
        cgroup,
        kubelet: { ca, ...write(`kubelet-${number}`, serving) },
        kubeletKubeconfig: await kubeconfig(...identity(nodeUser(nodeName(number)))),
        kubeletConfig: options.kubeletConfig ?? {},
        proxyKubeconfig: await kubeconfig('system:kube-proxy'),
        proxyMode: options.proxyMode ?? 'iptables',
        images,
        imageAliases: options.imageAliases ?? [],
        controlPlane: number === 1 ? controlPlaneCommands(controlPlane, options.apiServerArgs ?? []) : {},
      });
    }),
  );
  cleanUp.push(async () => {
    await Promise.all(nodes.map((one) => one.cutPower()));
  });
  await Promise.all(nodes.map((one) => one.powerOn()));
  const { rest } = await desk.of(admin);
  await waitUntil(
    async () => ((await rest.request('GET', '/readyz').catch(() => undefined))?.status === 200 ? true : undefined),
    { timeoutMs: READY_TIMEOUT_MS, otherwise: () => `the API server is not ready:\n${logOf(nodes, 'kube-apiserver')}` },
  );
  await waitForNamespaces(rest);
  await succeeded(
    rest.request('POST', '/apis/rbac.authorization.k8s.io/v1/clusterrolebindings', { body: PROXY_RIGHTS }),
  );
  await waitForControllers(rest);

  const nodeReady = (name: string) => waitForNode(name, (path) => rest.request<NodeObject>('GET', path));
  await Promise.all(nodes.map(({ name }) => nodeReady(name)));
  return {
    nodes,
    kubectl: async (args, { user = admin, input } = {}) => {
      const { kubeconfigFile } = await desk.of(user);
      const home = workspace.path('home');
      return runKubectl(findProgram('kubectl'), kubeconfigFile, args, input === undefined ? { home } : { home, input });
    },
    kubeconfigFile: async (user) => (await desk.of(user)).kubeconfigFile,
    request: async (user, method, path, payload) => (await desk.of(user)).rest.request(method, path, payload),
    nodeReady,
    stop,
    [Symbol.asyncDispose]: stop,
  };
}

const PROXY_RIGHTS = {
  metadata: { name: 'kube-proxy' },
  roleRef: { apiGroup: 'rbac.authorization.k8s.io', kind: 'ClusterRole', name: 'system:node-proxier' },
  subjects: [{ apiGroup: 'rbac.authorization.k8s.io', kind: 'User', name: 'system:kube-proxy' }],
};

interface NodeObject {
  readonly status?: { readonly conditions?: readonly { readonly type: string; readonly status: string }[] };
}

async function waitForNode(name: string, get: (path: string) => Promise<Answer<NodeObject>>): Promise<void> {
  let last: unknown;
  await waitUntil(
    async () => {
      const { body } = await get(`/api/v1/nodes/${name}`);
      last = body.status?.conditions ?? body;
      return isReady(body.status) || undefined;
    },
    { timeoutMs: READY_TIMEOUT_MS, otherwise: () => `node ${name} is not Ready: ${JSON.stringify(last)}` },
  );
}

/** Kubeconfigs for use inside of the lab. */
function kubeconfigs(desk: AccessDesk): (name: string, groups?: readonly string[]) => Promise<string> {
  return async (name, groups = []) =>
    (await desk.of({ name, groups }, `https://${API_ADDRESS}:${API_PORT}`)).kubeconfigFile;
}

function identity({ name, groups }: User): [string, readonly string[]] {
  return [name, groups];
}

function findProgram(name: string): string {
  const folders = [cacheFolder(KUBERNETES), ...nodeProgramFolders()];
  const found = folders.map((folder) => join(folder, name)).find((file) => existsSync(file));
  if (!found) throw new Error(`there is no ${name}`);
  return found;
}

function logOf(nodes: readonly RealNode[], service: string): string {
  return nodes[0]?.service(service).log().split('\n').slice(-20).join('\n') ?? '';
}
