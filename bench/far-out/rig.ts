import { type ApiClient, connect } from '../../src/cluster/client/api-client.ts';
import { deployedEnvironment } from '../../test/control-plane/as-deployed.ts';
import { freePorts } from '../../test/control-plane/free-ports.ts';
import { launch } from '../../test/control-plane/process.ts';
import { type Replica, startReplica } from '../../test/control-plane/replicas.ts';
import { waitUntil } from '../../test/control-plane/wait-until.ts';
import { createWorkspace } from '../../test/control-plane/workspace.ts';
import { policyObject } from '../../test/e2e/policy-objects.ts';
import { POLICIES_PATH } from '../../test/e2e/policy-resources.ts';
import type { Contender } from '../contenders.ts';
import type { Controls, SimulatedState, Started } from '../simulated-api-server.ts';
import { POOL_LABEL, taintOf } from './simulated-nodes.ts';

/** A kubelet reports its node's status that often where nothing changes (nodeStatusReportFrequency). */
export const HEARTBEAT_SECONDS = 300;

const START_TIMEOUT_MS = 30_000;
const PHASE_TIMEOUT_MS = 900_000;
const STOP_GRACE_MS = 5_000;
const POLL_MS = 250;
const SWEEP = /^taintkeeper_sweep_timestamp_seconds\{controller="node-repair"\} (\S+)$/m;

export interface SimulatedSize {
  readonly nodes: number;
  /** Each has a pool of nodes. */
  readonly policies: number;
  readonly daemonSets: number;
}

/** A simulated API server with nodes, DaemonSets and policies. */
export interface SimulatedCluster extends AsyncDisposable {
  readonly client: ApiClient;
  /** How many policies there are, of all kinds. */
  readonly policies: number;
  control<What extends keyof Controls>(what: What, body: Controls[What]): Promise<unknown>;
  state(): Promise<SimulatedState>;
  /** Resolves when the state is as it should be; it is asked four times a second. */
  until(what: string, isRight: (state: SimulatedState) => boolean): Promise<void>;
  /**
   * Starts taintkeeper, set up as the Deployment does. It ends with the cluster.
   * @param memoryLimitMiB the chart's value, of which V8's old generation gets a half; undefined: its default
   */
  start(name: string, contender: Pick<Contender, 'program' | 'node'>, memoryLimitMiB?: number): Promise<Replica>;
}

export async function simulateCluster(size: SimulatedSize): Promise<SimulatedCluster> {
  const stack = new AsyncDisposableStack();
  try {
    return await begin(stack, size);
  } catch (error) {
    await stack.disposeAsync();
    throw error;
  }
}

async function begin(stack: AsyncDisposableStack, size: SimulatedSize): Promise<SimulatedCluster> {
  const workspace = createWorkspace('far-out');
  stack.defer(workspace.remove);
  const program = `${import.meta.dirname}/../simulated-api-server.ts`;
  const { nodes, policies, daemonSets } = size;
  const args = ['--nodes', `${nodes}`, '--pools', `${policies}`, '--daemon-sets', `${daemonSets}`];
  const child = await launch('simulated API server', process.execPath, [program, ...args], {
    logFile: workspace.logFile('simulated'),
  });
  stack.defer(async () => void (await child.stop(STOP_GRACE_MS)));
  const { url, ca } = await waitUntil(
    () => {
      if (child.exit) throw child.failure('ended');
      const line = child.log().split('\n')[0] ?? '';
      return line.endsWith('}') ? (JSON.parse(line) as Started) : undefined;
    },
    { timeoutMs: START_TIMEOUT_MS, otherwise: () => child.failure('does not listen').message },
  );
  const kubeconfig = workspace.write('kubeconfig', kubeconfigFor(url, ca));
  const client = await connect({ kubeconfig, userAgent: 'far-out' });
  stack.defer(() => client.close());
  const created = await createPolicies(client, size);
  const state = () => client.request<SimulatedState>('GET', '/bench/state');

  return {
    client,
    policies: created,
    control: (what, body) => client.request('POST', `/bench/${what}`, { body, timeoutMs: START_TIMEOUT_MS }),
    state,
    async until(what, isRight) {
      await waitUntil(async () => (isRight(await state()) ? true : undefined), {
        timeoutMs: PHASE_TIMEOUT_MS,
        intervalMs: POLL_MS,
        otherwise: () => `after ${PHASE_TIMEOUT_MS / 1000} s, not all ${what}`,
      });
    },
    async start(name, { program, node }, memoryLimitMiB) {
      const [port = 0] = await freePorts(1);
      const env = deployedEnvironment();
      if (memoryLimitMiB !== undefined) env.NODE_OPTIONS += ` --max-old-space-size=${Math.floor(memoryLimitMiB / 2)}`;
      const replica = await startReplica({
        ...{ name, kubeconfigFile: kubeconfig, servicePort: port },
        ...{ program, node, env, args: ['--port', String(port)] },
      });
      stack.defer(() => replica.kill());
      return replica;
    },
    [Symbol.asyncDispose]: () => stack.disposeAsync(),
  };
}

/** Waits until the leader has compared all nodes. Its metrics cost it something: they are asked for four times a second. */
export async function firstSweep(leader: Replica): Promise<void> {
  await waitUntil(async () => (Number(SWEEP.exec(await leader.metrics())?.[1]) > 0 ? true : undefined), {
    timeoutMs: PHASE_TIMEOUT_MS,
    intervalMs: POLL_MS,
    otherwise: () => `no sweep within ${PHASE_TIMEOUT_MS / 1000} s`,
  });
}

/**
 * For each pool a policy by which its nodes have its taint, and for every tenth one by which DaemonSets tolerate it.
 * @returns how many
 */
async function createPolicies(client: ApiClient, { policies }: SimulatedSize): Promise<number> {
  let created = 0;
  for (let pool = 0; pool < policies; pool++) {
    const taints = [{ ...taintOf(pool), ensure: 'Always' }, { key: `team-${pool}.example.com/*` }];
    const nodeSelector = { matchLabels: { [POOL_LABEL]: `pool-${pool}` } };
    const spec = { mode: 'Restore', failurePolicy: 'Ignore', nodeSelector, taints };
    await create('TaintPolicy', `pool-${pool}`, spec);
    if (pool % 10 > 0) continue;
    const daemonSets = { namespaces: ['kube-system'], names: [`agent-${pool}*`] };
    await create('TolerationPolicy', `pool-${pool}`, {
      mode: 'Mutate',
      daemonSets,
      tolerations: [{ key: taintOf(pool).key }],
    });
  }

  return created;

  async function create(kind: 'TaintPolicy' | 'TolerationPolicy', name: string, spec: object): Promise<void> {
    await client.request('POST', POLICIES_PATH[kind], { body: policyObject(kind, name, spec) });
    created++;
  }
}

/** YAML is a superset of JSON. */
function kubeconfigFor(server: string, ca: string): string {
  const name = 'simulated';
  return JSON.stringify({
    ...{ apiVersion: 'v1', kind: 'Config', 'current-context': name },
    clusters: [{ name, cluster: { server, 'certificate-authority-data': Buffer.from(ca).toString('base64') } }],
    users: [{ name, user: { token: 'simulated' } }],
    contexts: [{ name, context: { cluster: name, user: name } }],
  });
}
