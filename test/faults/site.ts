import { join } from 'node:path';
import { deployedEnvironment } from '../control-plane/as-deployed.ts';
import { type ControlPlane, startControlPlane } from '../control-plane/control-plane.ts';
import { type Replica, type ReplicaOptions, taintkeeperAccount } from '../control-plane/replicas.ts';
import { startTcpProxy, type TcpProxy } from '../control-plane/tcp-proxy.ts';
import { admin } from '../control-plane/users.ts';
import { createWorkspace } from '../control-plane/workspace.ts';
import { AS_IN_A_CLUSTER, type Installation, install } from '../e2e/installation.ts';
import { createPools, type Pools } from './pools.ts';
import { waitUntilSettled } from './settled.ts';
import { CNI_NAMESPACE } from './traffic.ts';

/** What a scenario needs to do its harm: a control plane, two replicas, and every way between them. */
export interface Site {
  readonly cp: ControlPlane;
  readonly installation: Installation;
  readonly pools: Pools;
  /** The ways that can be made bad. */
  readonly ways: {
    readonly apiServerToWebhook: TcpProxy;
    readonly webhookToApiServer: TcpProxy;
    readonly apiServerToEtcd: TcpProxy;
  };
  /** Where a replica reads by how much its clock is to jump; see faulty-process.ts. */
  readonly clockFile: string;
  /** Nothing is protected from now on, and rightly so: no policy says that it is. Ends when all is settled again. */
  suspend(): void;
  readonly suspended: boolean;
  /** Waits until taintkeeper is as it should be. @throws Error that says what still is not, after 3 minutes */
  settle(): Promise<void>;
  /** Starts a replica of that name, as a kubelet does after a crash, in place of one that has ended. */
  restart(name: string, options?: Partial<ReplicaOptions>): Promise<Replica>;
  stop(): Promise<void>;
}

export const REPLICAS = ['a', 'b'] as const;

/** Preloaded into every replica, for the faults that only the process itself can have. */
const FAULTY_PROCESS = new URL('./faulty-process.ts', import.meta.url);

export interface SiteOptions {
  /** The bundle that `npm run build` makes, in place of the source. */
  readonly program?: string;
  readonly args?: readonly string[];
}

/** Starts all of it, and waits until everything is in force. */
export async function startSite({ program, args = [] }: SiteOptions = {}): Promise<Site> {
  const stack = new AsyncDisposableStack();
  try {
    let apiServerToEtcd: TcpProxy | undefined;
    const cp = stack.use(
      await startControlPlane({
        auditPolicy: join(import.meta.dirname, 'audit-policy.yaml'),
        wayToEtcd: async (url) => {
          apiServerToEtcd = await startTcpProxy(url);
          return apiServerToEtcd.url;
        },
      }),
    );
    if (!apiServerToEtcd) throw new Error('the API server asked for no way to etcd');
    stack.use(apiServerToEtcd);
    const installation = await install(cp, [], AS_IN_A_CLUSTER);
    stack.defer(() => installation.stop());
    const apiServerToWebhook = stack.use(await startTcpProxy(`https://127.0.0.1:${installation.proxy.port}`));
    const webhookToApiServer = stack.use(await startTcpProxy(cp.url));
    const workspace = createWorkspace('faults');
    stack.defer(() => workspace.remove());
    const clockFile = workspace.path('clock-jump');
    const common: Partial<ReplicaOptions> = {
      ...(program ? { program } : {}),
      kubeconfigFile: await cp.kubeconfigFile(taintkeeperAccount, webhookToApiServer.url),
      servicePort: apiServerToWebhook.port,
      args,
      env: { ...faultyEnvironment(), CLOCK_JUMP_FILE: clockFile },
    };
    await installation.start(REPLICAS, common);
    await cp.request(admin, 'POST', '/api/v1/namespaces', { body: { metadata: { name: CNI_NAMESPACE } } });
    const pools = await createPools(cp);
    let suspended = false;
    const site: Site = {
      cp,
      clockFile,
      suspend: () => {
        suspended = true;
      },
      get suspended() {
        return suspended;
      },
      async settle() {
        await waitUntilSettled(site);
        suspended = false;
      },
      installation,
      pools,
      ways: { apiServerToWebhook, webhookToApiServer, apiServerToEtcd },
      async restart(name, options = {}) {
        const [replica] = await installation.start([name], {
          ...common,
          ...options,
          env: { ...common.env, ...options.env },
        });
        if (!replica) throw new Error(`no replica ${name} was started`);
        return replica;
      },
      stop: () => stack.disposeAsync(),
    };
    await site.settle();
    return site;
  } catch (error) {
    await stack.disposeAsync();
    throw error;
  }
}

/** V8 and malloc as the Deployment sets them up, and what makes the process faulty. */
function faultyEnvironment(): Record<string, string> {
  const { NODE_OPTIONS, ...malloc } = deployedEnvironment();
  return { ...malloc, NODE_OPTIONS: `${NODE_OPTIONS} --import=${FAULTY_PROCESS}` };
}
