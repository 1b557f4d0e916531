import { InputError } from '../files/text-files.ts';
import type { StringMap } from '../kubernetes/label-selector.ts';
import { NEW_ROLE } from '../kubernetes/roles.ts';
import { formatTaint, identity, type Taint } from '../kubernetes/taint.ts';
import type { MachineConfiguration } from './machine-configuration.ts';
import type { DeclaredTaint } from './taint-notation.ts';
import { kindOf, valueAt } from './tree.ts';

/** The taint that keeps ordinary pods off control-plane nodes. */
export const CONTROL_PLANE_TAINT: DeclaredTaint = {
  key: NEW_ROLE,
  value: '',
  effect: 'NoSchedule',
};

/**
 * The taint that Talos adds by itself: to control-plane nodes that do not allow scheduling. Only the older shape implies it;
 * a KubeNodeConfig document says all there is (K8sNodeConfig of Talos' v1alpha1_k8s_bridge.go). A patch implies nothing.
 */
export function impliedTaint(configuration: MachineConfiguration): DeclaredTaint | undefined {
  const { role, isPatch, allowSchedulingOnControlPlanes, documents } = configuration;
  if (isPatch || role !== 'controlplane' || allowSchedulingOnControlPlanes?.value) return undefined;
  return documents.some((document) => kindOf(document) === 'KubeNodeConfig') ? undefined : CONTROL_PLANE_TAINT;
}

/** The label by which Talos, like kubeadm, marks control planes; the taint that keeps workloads off them has the same key. */
export const CONTROL_PLANE_KEY = CONTROL_PLANE_TAINT.key;

/** A taint, and `file:line:column` of where it is declared. */
export interface PlacedTaint extends Taint {
  readonly at: string;
}

/** A label's value, and where it is declared. */
export interface PlacedLabel {
  readonly value: string;
  readonly at: string;
}

/** What a machine configuration means for its nodes, whichever fields say it. */
export interface Declaration {
  readonly configuration: MachineConfiguration;
  /** One of each key and effect. */
  readonly taints: readonly PlacedTaint[];
  readonly labels: ReadonlyMap<string, PlacedLabel>;
}

/**
 * Brings together what the fields of a machine configuration say, and what Talos adds on its own: control planes have their
 * role's label and, unless `cluster.allowSchedulingOnControlPlanes` is set, their role's taint (NodeTaintSpecController of
 * siderolabs/talos). Where there is a document KubeNodeConfig, it says both itself, and nothing is added.
 * @throws InputError for one taint, or one label, declared with two values, with both places
 */
export function declarationOf(configuration: MachineConfiguration): Declaration {
  const faults: string[] = [];
  const taints = new Map<string, PlacedTaint>();
  for (const { value: taint, document, path } of configuration.taints) {
    const placed = { ...taint, at: document.locate(path) };
    const earlier = taints.get(identity(placed));
    if (earlier === undefined) taints.set(identity(placed), placed);
    else if ((earlier.value ?? '') !== (placed.value ?? '')) faults.push(contradiction(placed, earlier));
  }
  const labels = new Map<string, PlacedLabel>();
  for (const { value: label, document, path } of configuration.labels) {
    const at = document.locate(path);
    const earlier = labels.get(label.key);
    if (earlier === undefined) labels.set(label.key, { value: label.value, at });
    else if (earlier.value !== label.value) {
      faults.push(`${at}: label ${label.key} has another value at ${earlier.at}: keep one of the two`);
    }
  }
  if (faults.length > 0) throw new InputError(faults);

  const implied = impliedTaint(configuration);
  // A taint of this key in machine.nodeTaints takes the place of Talos' own, whatever its effect (NodeTaintSpecController; since
  // 1.14 it is the other way round, and lint says so: what the author has written is taken for what the author wants).
  if (implied && ![...taints.values()].some(({ key }) => key === implied.key)) {
    taints.set(identity(implied), { ...implied, at: roleAt(configuration) });
  }
  if (impliesLabel(configuration) && !labels.has(CONTROL_PLANE_KEY)) {
    labels.set(CONTROL_PLANE_KEY, { value: '', at: roleAt(configuration) });
  }
  return { configuration, taints: [...taints.values()], labels };
}

/** The two places of one taint with two values. */
export function contradiction(taint: PlacedTaint, other: PlacedTaint): string {
  return `${taint.at}: taint ${formatTaint(taint)} contradicts ${formatTaint(other)} at ${other.at}: a node has only one of the two`;
}

/** The labels alone, as selectors want them. */
export function labelsOf({ labels }: Declaration): StringMap {
  return Object.fromEntries([...labels].map(([key, { value }]) => [key, value]));
}

/**
 * The labels that can say what a node is for. Those of Kubernetes say what it is or where it stands, in which nodes of
 * different pools are alike, and most of them NodeRestriction does not let a kubelet set.
 */
export function ownLabels({ labels }: Declaration): ReadonlyMap<string, string> {
  const own = [...labels].filter(([key]) => !/(^|\.)(kubernetes|k8s)\.io\//.test(key));
  return new Map(own.map(([key, { value }]) => [key, value]));
}

function impliesLabel({ role, documents }: MachineConfiguration): boolean {
  return role === 'controlplane' && !documents.some((document) => kindOf(document) === 'KubeNodeConfig');
}

function roleAt({ documents }: MachineConfiguration): string {
  const path = ['machine', 'type'];
  return documents.find(({ value }) => valueAt(value, path) !== undefined)?.locate(path) ?? '';
}
