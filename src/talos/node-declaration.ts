import { InputError } from '../files/input-error.ts';
import { valueAt } from '../kubernetes/json.ts';
import type { StringMap } from '../kubernetes/label-selector.ts';
import { NEW_ROLE } from '../kubernetes/roles.ts';
import { formatTaint, type Taint, taintIdentity } from '../kubernetes/taint.ts';
import { kindOf } from './document-values.ts';
import type { MachineConfiguration } from './machine-configuration.ts';
import type { TaintFields } from './taint-notation.ts';

/** The taint that keeps ordinary pods off control-plane nodes. */
export const CONTROL_PLANE_TAINT: TaintFields = {
  key: NEW_ROLE,
  value: '',
  effect: 'NoSchedule',
};

/**
 * The taint that Talos adds itself: to control-plane nodes that do not allow scheduling. Only the older form implies it. A KubeNodeConfig document
 * contains everything (K8sNodeConfig of Talos' v1alpha1_k8s_bridge.go). A patch implies nothing.
 */
export function impliedTaint(configuration: MachineConfiguration): TaintFields | undefined {
  const { role, isPatch, allowSchedulingOnControlPlanes } = configuration;
  if (isPatch || role !== 'controlplane' || allowSchedulingOnControlPlanes?.value) return undefined;
  return hasKubeNodeConfig(configuration) ? undefined : CONTROL_PLANE_TAINT;
}

function hasKubeNodeConfig({ documents }: MachineConfiguration): boolean {
  return documents.some((document) => kindOf(document) === 'KubeNodeConfig');
}

/** The label by which Talos and kubeadm mark control planes. The taint that keeps workloads off them has the same key. */
export const CONTROL_PLANE_KEY = CONTROL_PLANE_TAINT.key;

/** A taint, and `file:line:column` of its declaration. */
export interface NodeTaint extends Taint {
  readonly at: string;
}

/** A label's value, and the place of its declaration. */
export interface NodeLabel {
  readonly value: string;
  readonly at: string;
}

/** The content of a machine configuration for its nodes, in either form. */
export interface NodeDeclaration {
  readonly configuration: MachineConfiguration;
  /** One of each key and effect. */
  readonly taints: readonly NodeTaint[];
  readonly labels: ReadonlyMap<string, NodeLabel>;
}

/**
 * Combines the fields of a machine configuration with Talos' own additions: control planes have their role's label and, unless
 * `cluster.allowSchedulingOnControlPlanes` is set, their role's taint (NodeTaintSpecController of siderolabs/talos). A document KubeNodeConfig
 * contains both itself, and nothing is added.
 * @throws InputError for one taint, or one label, with two values, with both places
 */
export function declarationOf(configuration: MachineConfiguration): NodeDeclaration {
  const faults: string[] = [];
  const taints = new Map<string, NodeTaint>();
  for (const { value: taint, document, path } of configuration.taints) {
    const placed = { ...taint, at: document.locate(path) };
    const earlier = taints.get(taintIdentity(placed));
    if (earlier === undefined) taints.set(taintIdentity(placed), placed);
    else if ((earlier.value ?? '') !== (placed.value ?? '')) faults.push(contradiction(placed, earlier));
  }
  const labels = new Map<string, NodeLabel>();
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
  // A taint of this key in machine.nodeTaints replaces Talos' own, with any effect (NodeTaintSpecController). Since 1.14 it is the reverse, and lint
  // reports it: the author's declaration counts here.
  if (implied && ![...taints.values()].some(({ key }) => key === implied.key)) {
    taints.set(taintIdentity(implied), { ...implied, at: roleAt(configuration) });
  }
  if (impliesLabel(configuration) && !labels.has(CONTROL_PLANE_KEY)) {
    labels.set(CONTROL_PLANE_KEY, { value: '', at: roleAt(configuration) });
  }
  return { configuration, taints: [...taints.values()], labels };
}

/** The two places of one taint with two values. */
export function contradiction(taint: NodeTaint, other: NodeTaint): string {
  return `${taint.at}: taint ${formatTaint(taint)} contradicts ${formatTaint(other)} at ${other.at}: a node has only one of the two`;
}

/** The labels alone, as selectors read them. */
export function labelsOf({ labels }: NodeDeclaration): StringMap {
  return Object.fromEntries([...labels].map(([key, { value }]) => [key, value]));
}

/**
 * The labels that can identify the purpose of a node. Those of Kubernetes describe the machine or its place, which nodes of different pools share,
 * and NodeRestriction does not let a kubelet set most of them.
 */
export function ownLabels({ labels }: NodeDeclaration): ReadonlyMap<string, string> {
  const own = [...labels].filter(([key]) => !/(^|\.)(kubernetes|k8s)\.io\//.test(key));
  return new Map(own.map(([key, { value }]) => [key, value]));
}

function impliesLabel(configuration: MachineConfiguration): boolean {
  return configuration.role === 'controlplane' && !hasKubeNodeConfig(configuration);
}

function roleAt({ documents }: MachineConfiguration): string {
  const path = ['machine', 'type'];
  return documents.find(({ value }) => valueAt(value, path) !== undefined)?.locate(path) ?? '';
}
