import type { Logger } from 'pino';
import type { CertificateKeeper } from '../certs/certificate-keeper.ts';
import type { SecretRef } from '../cluster/certificate-secret.ts';
import type { ApiClient } from '../cluster/client/api-client.ts';
import type { NodeRecords } from '../cluster/node-records.ts';
import type { ClusterPolicies } from '../cluster/policies.ts';
import type { SecretKeeper } from '../cluster/secret-keeper.ts';
import type { ServiceRef } from '../cluster/service-endpoint.ts';
import type { RegisteredWebhooks } from '../cluster/webhook-configurations.ts';
import type { RecordedEvent } from '../kubernetes/event.ts';
import type { OptionalRight } from '../policy/asked-rights.ts';
import type { Source } from '../runtime/source.ts';
import {
  type Reconciler,
  startReconciler,
  startWorkQueue,
  type WorkQueue,
  type WorkQueueOptions,
} from '../runtime/work-queue.ts';
import type { LeaderMetrics } from '../server/metrics.ts';
import type { Reports } from './reports.ts';
import type { ClusterSources } from './sources.ts';

/** The API server compiles every expression that is written: policies that change together are one write. */
export const POLICIES_GATHER_MS = 200;

export interface LeaderOptions {
  /** Aborted when this process leads no longer: nothing waits for anything then. */
  readonly signal: AbortSignal;
  /** Writes only while this process leads. */
  readonly client: ApiClient;
  readonly namespace: string;
  /** The name of this replica's pod. */
  readonly identity: string;
  readonly service: ServiceRef;
  /** Every policy is taken to be in mode Audit: nothing is written for it. */
  readonly audit: boolean;
  readonly policies: ClusterPolicies;
  readonly webhooks: RegisteredWebhooks;
  readonly nodeRecords: NodeRecords;
  readonly certificates: Pick<CertificateKeeper, 'current'> & { readonly changes: Source };
  /** The certificates once more where they are in a Secret, and so taintkeeper's to look after. */
  readonly secret:
    | { readonly keeper: SecretKeeper; readonly ref: SecretRef; readonly names: readonly string[] }
    | undefined;
  readonly caOverlapMs: number;
  /** Name of the ConfigMap with default policies, if there is one. */
  readonly defaultPolicies: string | undefined;
  /** Name of the ClusterRole that what taintkeeper registers goes with, if any. */
  readonly ownerClusterRole: string | undefined;
  /** How many nodes a second get a taint that evicts pods, in each zone. */
  readonly evictionRate: number;
  /** Whether to write a ClusterReport of each policy. */
  readonly writeReports: boolean;
  /** See {@link Leadership}. */
  readonly predecessorAt: number | undefined;
  /** Makes this replica not ready while the drain of that node waits for its eviction; undefined: ready again. */
  readonly giveWay: (toDrainOf: string | undefined) => void;
  readonly recordEvent: (event: RecordedEvent) => void;
  readonly metrics: LeaderMetrics;
  readonly log: Logger;
}

/** What this leader may do besides what every installation may. */
export interface Rights {
  /** Undefined until the API server was asked: it is, as soon as somebody asks here for the first time. */
  permits(right: OptionalRight): boolean | undefined;
  readonly changes: Source;
}

/** What every controller is started with: what it reads, what it subscribes to, and where it tells what it knows. */
export interface LeaderContext extends LeaderOptions, ClusterSources {
  readonly rights: Rights;
  readonly reports: Reports;
}

export interface Controller {
  /** Ends for good, once the work in progress has. Nothing new begins anyway once the context's signal is aborted. */
  stop(): Promise<void>;
}

/** A reconciler of the leader, whose runs are counted. */
export function startController(
  { metrics, log, signal }: Counted,
  name: string,
  reconcile: () => Promise<number | undefined>,
  { pauseMs = 0, onEnd = () => {} }: { readonly pauseMs?: number; readonly onEnd?: () => void } = {},
): Reconciler {
  return startReconciler({
    name,
    reconcile,
    log,
    signal,
    pauseMs,
    onResult(result) {
      metrics.reconciled(name, result);
      onEnd();
    },
  });
}

/** A work queue of the leader: its depth is a metric until it stops, and its runs are counted. */
export function startControllerQueue(
  { metrics, log, signal }: Pick<LeaderContext, 'metrics' | 'log' | 'signal'>,
  name: string,
  { work, concurrency }: Pick<WorkQueueOptions, 'work' | 'concurrency'>,
): WorkQueue {
  const onResult = (result: 'ok' | 'error') => metrics.reconciled(name, result);
  const queue = startWorkQueue({ name, work, concurrency, log, signal, onResult });
  metrics.watchQueue(name, queue.depth);
  return {
    ...queue,
    stop() {
      metrics.watchQueue(name, undefined);
      return queue.stop();
    },
  };
}

export interface Counted extends Pick<LeaderContext, 'log' | 'signal'> {
  readonly metrics: Pick<LeaderMetrics, 'reconciled'>;
}
