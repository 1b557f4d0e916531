import { formatTaint, type Taint } from '../kubernetes/taint.ts';
import { equalToleration, formatToleration, type Toleration, tolerates } from '../kubernetes/toleration.ts';
import type { Tolerator } from './tolerating.ts';

/**
 * Taints of nodes from which pods are drained: set by `kubectl cordon` and `kubectl drain`, by Karpenter, and by the Cluster Autoscaler
 * (its value is a time). A pod that tolerates one is scheduled there again.
 */
const DRAINED: readonly Taint[] = [
  { key: 'node.kubernetes.io/unschedulable', effect: 'NoSchedule' },
  { key: 'karpenter.sh/disrupted', effect: 'NoSchedule' },
  { key: 'ToBeDeletedByClusterAutoscaler', value: '0', effect: 'NoSchedule' },
];

/**
 * Taints of nodes whose kubelet reports a failure, or nothing. A pod that tolerates one without tolerationSeconds stays bound to the node
 * until the node is deleted, and its controller makes no other pod. Pods that tolerate neither get 300 s from the API server (admission
 * plugin DefaultTolerationSeconds).
 */
const DEAD: readonly Taint[] = [
  { key: 'node.kubernetes.io/not-ready', effect: 'NoExecute' },
  { key: 'node.kubernetes.io/unreachable', effect: 'NoExecute' },
];

/** A toleration by which a workload's pods return to drained nodes, or stay on dead ones. */
export interface WideToleration {
  readonly namespace: string;
  /** The workload that creates the pods, or a pod without an owner. */
  readonly kind: string;
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
 * Workloads that tolerate drained or dead nodes, except DaemonSets and static pods. Pods count for their owner. Examples: projectcalico/calico#8371,
 * rancher/rke2#10438, cilium/tetragon#3484.
 */
export function wideTolerations(tolerators: readonly Tolerator[]): WideToleration[] {
  const cronJobs = new Map(
    tolerators.flatMap(({ kind, name, pod: { namespace }, owner }) =>
      kind === 'Job' && owner?.kind === 'CronJob' ? [[`${namespace}/${name}`, owner]] : [],
    ),
  );
  const all = tolerators
    // Such a Job has an earlier template of its CronJob. Its pods count for the CronJob as long as they exist.
    .filter(({ kind, owner }) => kind !== 'Job' || owner?.kind !== 'CronJob')
    .map((tolerator) => ({ tolerator, workload: workloadOf(tolerator, cronJobs) }))
    .filter(({ workload: { kind } }) => kind !== 'DaemonSet' && kind !== 'Node');
  const workloads = Map.groupBy(all, ({ workload: { namespace, name, kind } }) => [namespace, name, kind].join(' '));
  return [...workloads.keys()].sort().flatMap((id) => {
    const group = workloads.get(id) ?? [];
    const [first] = group;
    if (!first) return [];
    const { workload } = first;
    const template = group.find(({ tolerator }) => tolerator.kind === workload.kind)?.tolerator;
    const declared = template ? wideIn(template.pod.tolerations) : [];
    const onPods = group
      .filter(({ tolerator }) => tolerator !== template)
      .flatMap(({ tolerator }) => wideIn(tolerator.pod.tolerations))
      .filter(isFirst)
      .filter(({ given }) => !declared.some((other) => equalToleration(other.given, given)));
    const report = ({ given, returnsTo, staysOn }: Wide, change: string): WideToleration => ({
      ...workload,
      toleration: formatToleration(given),
      returnsTo: returnsTo.map(({ key, effect }) => formatTaint({ key, effect })),
      staysOn: staysOn.map(formatTaint),
      change,
    });
    return [
      ...declared.map((wide) => report(wide, changeOf(wide, workload, template))),
      ...onPods.map((wide) => report(wide, template ? NOT_IN_TEMPLATE : changeOf(wide, workload, template))),
    ];
  });
}

interface Workload {
  readonly namespace: string;
  readonly kind: string;
  readonly name: string;
}

function workloadOf(
  { kind, name, pod: { namespace }, owner, templateHash }: Tolerator,
  cronJobs: ReadonlyMap<string, { readonly kind: string; readonly name: string }>,
): Workload {
  if (kind !== 'Pod' || !owner) return { namespace, kind, name };
  // The Deployment controller uses it in the names of its ReplicaSets and the labels of their pods.
  const suffix = `-${templateHash}`;
  if (owner.kind === 'ReplicaSet' && templateHash !== '' && owner.name.endsWith(suffix)) {
    return { namespace, kind: 'Deployment', name: owner.name.slice(0, -suffix.length) };
  }
  const cronJob = owner.kind === 'Job' ? cronJobs.get(`${namespace}/${owner.name}`) : undefined;
  return { namespace, ...(cronJob ?? owner) };
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

const NOT_IN_TEMPLATE =
  'the template does not have it: an admission webhook adds it, or the pod is of an earlier rollout';

/** A Job's template is immutable, and a pod only accepts additional tolerations. */
const UNCHANGEABLE: readonly string[] = ['Pod', 'Job'];

function changeOf(wide: Wide, { kind, name }: Workload, template: Tolerator | undefined): string {
  const change = editOf(wide);
  if (!template) return `${change}, in ${kind} ${name}`;
  if (template.owner) return `${change}, in ${template.owner.kind} ${template.owner.name}`;
  const again = UNCHANGEABLE.includes(kind) ? `, and create the ${kind} again, because that cannot be changed` : '';
  return template.managedBy === undefined
    ? `${change}${again}`
    : `${change}${again} (managed by ${template.managedBy}: change it there, too)`;
}

function editOf({ given: { key, effect }, staysOn }: Wide): string {
  if (!key) return 'replace it with tolerations that each name a key';
  if (staysOn.length === 0) return 'remove it';
  return effect ? 'add tolerationSeconds: 300' : 'add effect: NoExecute and tolerationSeconds: 300';
}
