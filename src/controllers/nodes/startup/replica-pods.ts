import type { ApiClient } from '../../../cluster/client/api-client.ts';
import { listReplicas } from '../../../cluster/installation/replica-pods.ts';
import type { ServiceRef } from '../../../cluster/installation/service-ref.ts';
import type { CompiledTaintPolicy } from '../../../policy/compiled-taint-policy.ts';
import type { ReplicaPod } from '../../../scheduling/replica-spread.ts';
import { type Controller, type Run, startControllerReconciler } from '../../controller.ts';

/** The tolerations of the replicas are read at this interval while a policy has a startup taint. */
const CHECK_AGAIN_MS = 60_000;

export interface ReplicaPodsOptions {
  readonly client: ApiClient;
  /** The Service whose pods are the replicas. */
  readonly service: ServiceRef;
  readonly compiled: () => readonly CompiledTaintPolicy[];
  /** Called after each read. */
  readonly onChange: () => void;
}

/** The replicas, which must tolerate startup taints. */
export interface ReplicaPods extends Controller {
  /** As last read. */
  current(): readonly ReplicaPod[];
  /** The policies have changed. */
  restart(): void;
}

export function startReplicaPods(run: Run, options: ReplicaPodsOptions): ReplicaPods {
  const { client, service, compiled, onChange } = options;
  let replicas: readonly ReplicaPod[] = [];
  const reading = startControllerReconciler(run, 'startup-replicas', read);
  return { current: () => replicas, restart: reading.restart, stop: reading.stop };

  async function read(): Promise<number | undefined> {
    if (compiled().every(({ untilReady }) => untilReady.length === 0)) return undefined;
    replicas = await listReplicas(client, service);
    onChange();
    return CHECK_AGAIN_MS;
  }
}
