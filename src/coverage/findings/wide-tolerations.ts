import { formatTaint, type Taint } from '../../kubernetes/taint.ts';
import { equalToleration, formatToleration, type Toleration, tolerates } from '../../kubernetes/toleration.ts';
import {
  DISRUPTED_KEY,
  NOT_READY_KEY,
  TO_BE_DELETED_KEY,
  UNREACHABLE_KEY,
  UNSCHEDULABLE_KEY,
} from '../../kubernetes/well-known-taints.ts';
import type { Workload, WorkloadKind } from '../workload.ts';

/**
 * Taints of nodes from which pods are drained: set by `kubectl cordon` and `kubectl drain`, by Karpenter, and by the Cluster Autoscaler
 * (its value is a time). A pod that tolerates one is scheduled there again.
 */
const DRAINED: readonly Taint[] = [
  { key: UNSCHEDULABLE_KEY, effect: 'NoSchedule' },
  { key: DISRUPTED_KEY, effect: 'NoSchedule' },
  { key: TO_BE_DELETED_KEY, value: '0', effect: 'NoSchedule' },
];

/**
 * Taints of nodes whose kubelet reports a failure, or nothing. A pod that tolerates one without tolerationSeconds stays bound to the node
 * until the node is deleted, and its controller makes no other pod. Pods that tolerate neither get 300 s from the API server (admission
 * plugin DefaultTolerationSeconds).
 */
const DEAD: readonly Taint[] = [
  { key: NOT_READY_KEY, effect: 'NoExecute' },
  { key: UNREACHABLE_KEY, effect: 'NoExecute' },
];

/** A toleration by which a workload's pods return to drained nodes, or stay on dead ones. */
export interface WideToleration {
  readonly namespace: string;
  readonly kind: WorkloadKind;
  readonly name: string;
  /** As kubectl writes it. */
  readonly toleration: string;
  /** The taints of drained nodes to which the pods return. */
  readonly returnsTo: readonly string[];
  /** The taints of dead nodes to which the pods stay bound. */
  readonly staysOn: readonly string[];
  readonly change: string;
}

/**
 * Workloads whose templates tolerate drained or dead nodes, except DaemonSets. Examples: projectcalico/calico#8371, rancher/rke2#10438,
 * cilium/tetragon#3484.
 */
export function wideTolerations(workloads: readonly Workload[]): WideToleration[] {
  const titleOf = ({ namespace, name, kind }: Workload) => [namespace, name, kind].join(' ');
  return workloads
    .filter(({ kind }) => kind !== 'DaemonSet')
    .toSorted((a, b) => (titleOf(a) < titleOf(b) ? -1 : 1))
    .flatMap((workload) => {
      const { namespace, kind, name, tolerations, managedBy } = workload;
      return wideIn(tolerations).map((wide) => ({
        namespace,
        kind,
        name,
        toleration: formatToleration(wide.given),
        returnsTo: wide.returnsTo.map(({ key, effect }) => formatTaint({ key, effect })),
        staysOn: wide.staysOn.map(formatTaint),
        change: `${editOf(wide)}${managedBy === undefined ? '' : ` (managed by ${managedBy}: change it there)`}`,
      }));
    });
}

/** A toleration, and which nodes' taints it tolerates. */
interface Wide {
  readonly given: Toleration;
  readonly returnsTo: readonly Taint[];
  readonly staysOn: readonly Taint[];
}

function wideIn(tolerations: readonly Toleration[]): Wide[] {
  // The first toleration that matches a NoExecute taint decides about the time.
  const forever = DEAD.filter((taint) => {
    const first = tolerations.find((toleration) => tolerates(toleration, taint));
    return first !== undefined && first.tolerationSeconds == null;
  });
  return tolerations
    .map((given) => ({
      given,
      returnsTo: DRAINED.filter((taint) => tolerates(given, taint)),
      staysOn: forever.filter((taint) => given.tolerationSeconds == null && tolerates(given, taint)),
    }))
    .filter(({ returnsTo, staysOn }) => returnsTo.length + staysOn.length > 0)
    .filter(isFirst);
}

function isFirst({ given }: Wide, index: number, all: readonly Wide[]): boolean {
  return all.findIndex((other) => equalToleration(other.given, given)) === index;
}

function editOf({ given: { key, effect }, staysOn }: Wide): string {
  if (!key) return 'replace it with tolerations that each name a key';
  if (staysOn.length === 0) return 'remove it';
  return effect ? 'add tolerationSeconds: 300' : 'add effect: NoExecute and tolerationSeconds: 300';
}
