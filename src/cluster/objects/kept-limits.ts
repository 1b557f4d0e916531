import { withinBudget } from '../../collections/within-budget.ts';
import { READ_ANNOTATIONS } from '../../judge/added-tolerations.ts';
import { boundedAllowRemoval, MAX_ALLOW_REMOVAL_LENGTH } from '../../judge/allow-removal.ts';
import type { DaemonSetView } from '../../judge/daemon-set-view.ts';
import type { NodeView } from '../../judge/node-view.ts';
import { ownValue, type StringMap } from '../../kubernetes/label-selector.ts';
import { MalformedObjectError } from '../../objects/object-schema.ts';

// The leader keeps a part of each Node and DaemonSet, and their authors decide how large that part is: etcd accepts an object with 150,000 labels.

/** What is kept of one object. A Node with 350 labels of Node Feature Discovery, or a DaemonSet with 256 tolerations of usual length, needs less. */
const MAX_BYTES = 65_536;
/** Of the labels of a Node and its annotation allow-removal. A kubelet can write that many labels: the rest is for the taints, which it cannot write. */
const MAX_METADATA_BYTES = 49_152;

/**
 * A Node with a limited number of labels. The labels that a kubelet may not change come first, so it cannot push them out by others. A user who may
 * write `nodes/status` could remove each label anyway, so the limit gives no user a new right.
 *
 * Taints are not left out: a patch replaces the whole list, and a taint that is left out would count as removed.
 * @throws MalformedObjectError for a Node that needs too much memory
 */
export function limitNode<Node extends NodeView>(node: Node): Node {
  const allowRemoval = node.allowRemoval === undefined ? undefined : boundedAllowRemoval(node.allowRemoval);
  // The text of one that is too long is shared.
  const ownText = (allowRemoval?.length ?? 0) > MAX_ALLOW_REMOVAL_LENGTH ? undefined : allowRemoval;
  const kept = { ...node, labels: limitLabels(node.labels, MAX_METADATA_BYTES - heapBytes(ownText)), allowRemoval };
  // What is kept of its status is limited already: see viewNodeStatus.
  const { name, taints } = kept;
  checkMemory(
    { name, taints, labels: kept.labels, allowRemoval: ownText },
    'taints, labels and annotation allow-removal',
  );
  return kept;
}

function limitLabels(labels: StringMap, maxBytes: number): StringMap {
  const all = Object.entries(labels);
  if (labelBytes(all) <= maxBytes) return labels;
  const { first = [], later = [] } = Object.groupBy(all, ([key]) => (isSetByAdministrators(key) ? 'first' : 'later'));
  return Object.fromEntries(withinBudget([...first, ...later], maxBytes, (entry) => labelBytes([entry])));
}

/** As in a table, of which a few labels need less. */
function labelBytes(entries: readonly (readonly [key: string, value: string | null])[]): number {
  return entries.reduce((sum, [key, value]) => sum + TABLE_ENTRY_BYTES + key.length + heapBytes(value), 0);
}

/** Below these prefixes, a kubelet may set any number of labels of its node (plugin/pkg/admission/noderestriction, `IsKubeletLabel`). */
const KUBELET_DOMAIN = /(^|\.)(kubelet|node)\.kubernetes\.io$/;
const KUBERNETES_DOMAIN = /(^|\.)(kubernetes|k8s)\.io$/;

/** Labels of Kubernetes' own domains that a kubelet may not change, and the ten or so that it may. */
function isSetByAdministrators(key: string): boolean {
  const [domain = ''] = key.includes('/') ? key.split('/', 1) : [];
  return KUBERNETES_DOMAIN.test(domain) && !KUBELET_DOMAIN.test(domain);
}

/**
 * A DaemonSet with only the annotations that the program reads.
 * @throws MalformedObjectError for a DaemonSet that needs too much memory
 */
export function limitDaemonSet<DaemonSet extends DaemonSetView>(daemonSet: DaemonSet): DaemonSet {
  const read = READ_ANNOTATIONS.flatMap((name) => {
    const value = ownValue(daemonSet.annotations, name);
    return value === undefined ? [] : [[name, value] as const];
  });
  const kept = { ...daemonSet, annotations: Object.fromEntries(read) };
  checkMemory(kept, 'labels, selectors, node affinity, tolerations and annotations of taintkeeper');
  return kept;
}

function checkMemory(kept: object, what: string): void {
  if (heapBytes(kept) > MAX_BYTES) {
    throw new MalformedObjectError([], `its ${what} need more than ${MAX_BYTES} bytes of memory`);
  }
}

const TEXT_BYTES = 16;
const SLOT_BYTES = 8;
const OBJECT_BYTES = 56;
/** V8 keeps an object with more keys as a hash table, and such keys are names that users choose. */
const MAX_PLAIN_KEYS = 32;
const TABLE_ENTRY_BYTES = 72;

/** What V8 needs for a parsed value, roughly. */
function heapBytes(value: unknown): number {
  if (typeof value === 'string') return TEXT_BYTES + value.length;
  if (typeof value !== 'object' || value === null) return 0;
  if (Array.isArray(value)) return value.reduce((sum, item) => sum + SLOT_BYTES + heapBytes(item), OBJECT_BYTES);
  const entries = Object.entries(value);
  const bytesOf = (key: string) => (entries.length > MAX_PLAIN_KEYS ? TABLE_ENTRY_BYTES + key.length : SLOT_BYTES);
  return entries.reduce((sum, [key, part]) => sum + bytesOf(key) + heapBytes(part), OBJECT_BYTES);
}
