import { describe, expect, it } from 'vitest';
import {
  keepDaemonSet,
  keepNode,
  projectDaemonSet,
  projectNode,
} from '../../../../src/cluster/objects/cluster-objects.ts';
import { parseAllowedRemovals } from '../../../../src/judge/allow-removal.ts';
import { MalformedObjectError } from '../../../../src/objects/object-schema.ts';
import { collectGarbage } from '../../collect-garbage.ts';

const MAX_LABELS = 1_000;
const upTo = (count: number) => Array.from({ length: count }, (_, index) => index);
const labelsOf = (keys: readonly string[], value = '') => Object.fromEntries(keys.map((key) => [key, value]));
const keysWith = (prefix: string, count: number) => upTo(count).map((index) => `${prefix}${index}`);

const nodeWith = (labels: object, taints: readonly object[] = []) => ({
  metadata: { name: 'n1', uid: 'u', labels },
  spec: { taints },
});

const REMOVAL = 'taintkeeper.dev/allow-removal';
const allowing = (text: string, taints: readonly object[] = []) => {
  const { metadata, spec } = nodeWith({}, taints);
  return { metadata: { ...metadata, annotations: { [REMOVAL]: text } }, spec };
};
const taintsWith = (key: string, count: number) =>
  upTo(count).map((index) => ({ key: `${key}${index}`, value: 'team', effect: 'NoSchedule' }));

describe('of a Node', () => {
  it('all labels are kept, as many as Node Feature Discovery writes', () => {
    const labels = labelsOf(keysWith('feature.node.kubernetes.io/cpu-cpuid.', 350), 'true');
    expect(keepNode(nodeWith(labels)).labels).toEqual(labels);
  });

  it.each([
    { what: 'short labels', labels: labelsOf(keysWith('a', 100_000)) },
    { what: 'long labels', labels: labelsOf(keysWith('x'.repeat(300), 900), 'y'.repeat(63)) },
  ])('a limited part of $what is kept', ({ labels }) => {
    const kept = Object.entries(keepNode(nodeWith(labels)).labels);
    expect(kept.length).toBeGreaterThan(100);
    expect(kept.join('').length).toBeLessThan(50_000);
    expect(labels).toMatchObject(Object.fromEntries(kept));
  });

  it('labels that a kubelet may not change are kept before all others', () => {
    const fixed = {
      'example.node-restriction.kubernetes.io/pool': 'a',
      'kubernetes.io/hostname': 'n1',
      'node-restriction.kubernetes.io/pool': 'b',
      'node-role.kubernetes.io/control-plane': '',
      'topology.kubernetes.io/zone': 'z',
    };
    const filling = [
      ...keysWith('a.example.com/', MAX_LABELS),
      ...keysWith('a', MAX_LABELS),
      ...keysWith('a.kubelet.kubernetes.io/', MAX_LABELS),
      ...keysWith('a.node.kubernetes.io/', MAX_LABELS),
    ];
    const kept = keepNode(nodeWith({ ...labelsOf(filling), ...fixed })).labels;
    expect(kept).toMatchObject(fixed);
    expect(Object.keys(kept).length).toBeGreaterThan(300);
  });

  it.each([
    { what: 'many taints', taints: taintsWith('k', 2_000), most: 256 },
    { what: 'long taints', taints: taintsWith(`${'x'.repeat(240)}/`, 2_000), most: 64 },
  ])('with too $what, no part is read, because a patch replaces them all', ({ taints, most }) => {
    expect(keepNode(nodeWith({}, taints.slice(0, most))).taints).toHaveLength(most);
    expect(() => keepNode(nodeWith({}, taints))).toThrow(MalformedObjectError);
    expect(projectNode(nodeWith({}, taints)).taints).toHaveLength(2_000);
  });

  it('with usual taints, no label keeps it from being read', () => {
    const taints = taintsWith('team.example.com/dedicated-', 64);
    for (const labels of [labelsOf(keysWith('a', 100_000)), labelsOf(keysWith('x'.repeat(300), 900), 'y'.repeat(63))]) {
      expect(keepNode(nodeWith(labels, taints)).taints).toEqual(taints);
    }
  });

  it.each([
    { what: 'that counts', text: 'k:NoSchedule,'.repeat(2_500) },
    { what: 'that is too long', text: ','.repeat(32_769) },
  ])('with usual taints, no label keeps it from being read, with an annotation allow-removal $what', ({ text }) => {
    const taints = taintsWith('team.example.com/dedicated-', 64);
    const { metadata, spec } = allowing(text, taints);
    const labels = labelsOf(keysWith('a', 100_000), 'y'.repeat(63));
    expect(keepNode({ metadata: { ...metadata, labels }, spec })).toMatchObject({ taints, allowRemoval: text });
  });

  it('an annotation allow-removal that is too long to count is kept as one that is too long', () => {
    const taints = taintsWith('team.example.com/dedicated-', 64);
    const { allowRemoval, taints: kept } = keepNode(allowing('k:NoSchedule,'.repeat(20_000), taints));
    expect(parseAllowedRemovals(allowRemoval)).toMatchObject({ entries: [{ taint: undefined }], taints: new Set() });
    // One text, for all of them.
    expect(keepNode(allowing('k:NoSchedule,'.repeat(10_000))).allowRemoval === allowRemoval).toBe(true);
    expect(kept).toEqual(taints);
    const longest = 'k:NoSchedule,'.repeat(2_500);
    expect(keepNode(allowing(longest)).allowRemoval).toBe(longest);
  });
});

const daemonSetWith = (metadata: object, spec: object = {}, selector: object = {}) => ({
  metadata: { namespace: 'agents', name: 'a', ...metadata },
  spec: { selector, template: { spec } },
});
const tolerations = (count: number, key = 'team.example.com/dedicated-') =>
  keysWith(key, count).map((one) => ({ key: one, operator: 'Equal', value: 'gpu', effect: 'NoSchedule' }));
const terms = (count: number) => ({
  nodeAffinity: {
    requiredDuringSchedulingIgnoredDuringExecution: {
      nodeSelectorTerms: upTo(count).map(() => ({ matchExpressions: [{ key: '', operator: '' }] })),
    },
  },
});

describe('of a DaemonSet', () => {
  it('only the annotations are kept that the program reads', () => {
    const annotations = {
      'taintkeeper.dev/ignore': 'true',
      'taintkeeper.dev/tolerations-added': 'a:NoSchedule',
    };
    const object = daemonSetWith({ annotations: { ...annotations, 'meta.helm.sh/release-name': 'a', pad: 'x' } });
    expect(keepDaemonSet(object).annotations).toEqual(annotations);
  });

  it('one with 256 tolerations and a list of 300 instance types is kept', () => {
    const values = keysWith('m5dn.metal-24xlarge-', 300);
    const affinity = {
      nodeAffinity: {
        requiredDuringSchedulingIgnoredDuringExecution: {
          nodeSelectorTerms: [
            { matchExpressions: [{ key: 'node.kubernetes.io/instance-type', operator: 'In', values }] },
          ],
        },
      },
    };
    for (const object of [daemonSetWith({}, { tolerations: tolerations(256) }), daemonSetWith({}, { affinity })]) {
      expect(keepDaemonSet(object)).toEqual(projectDaemonSet(object));
    }
  });

  it.each([
    { what: 'short labels', object: daemonSetWith({ labels: labelsOf(keysWith('a', 1_000)) }) },
    { what: 'labels in its selector', object: daemonSetWith({}, {}, { matchLabels: labelsOf(keysWith('a', 1_000)) }) },
    { what: 'expressions', object: daemonSetWith({}, {}, { matchExpressions: Array(1_000).fill({ key: 'a' }) }) },
    { what: 'node labels', object: daemonSetWith({}, { nodeSelector: labelsOf(keysWith('a', 1_000)) }) },
    { what: 'tolerations', object: daemonSetWith({}, { tolerations: tolerations(1_000, 'k') }) },
    { what: 'terms', object: daemonSetWith({}, { affinity: terms(1_000) }) },
    {
      what: 'text in an annotation that the program reads',
      object: daemonSetWith({ annotations: { 'taintkeeper.dev/tolerations-added': 'x'.repeat(65_536) } }),
    },
  ])('one with too many or too much $what is not kept', ({ object }) => {
    expect(() => keepDaemonSet(object)).toThrow(MalformedObjectError);
    expect(() => projectDaemonSet(object)).not.toThrow();
  });
});

function heapInUse(): number {
  for (let i = 0; i < 2; i++) collectGarbage();
  return process.memoryUsage().heapUsed;
}

describe('what is kept', () => {
  const OBJECTS = 10;
  /** The largest number of items with which an object is kept. */
  const most = (keep: (count: number) => unknown) => {
    let [fits, exceeds] = [0, 2_048];
    expect(() => keep(exceeds)).toThrow(MalformedObjectError);
    while (exceeds - fits > 1) {
      const middle = Math.floor((fits + exceeds) / 2);
      try {
        keep(middle);
        fits = middle;
      } catch {
        exceeds = middle;
      }
    }
    return fits;
  };

  it.each<{ what: string; part: (count: number, prefix: string) => object }>([
    { what: 'short labels', part: (count, prefix) => daemonSetWith({ labels: labelsOf(keysWith(prefix, count)) }) },
    { what: 'tolerations', part: (count, prefix) => daemonSetWith({}, { tolerations: tolerations(count, prefix) }) },
    { what: 'terms', part: (count) => daemonSetWith({}, { affinity: terms(count) }) },
  ])('of a DaemonSet with as many $what as are accepted takes less than 80 KiB', ({ part }) => {
    // As parsed from an answer, not as made by a test.
    const keep = (count: number, prefix: string) => keepDaemonSet(JSON.parse(JSON.stringify(part(count, prefix))));
    const count = most((some) => keep(some, 'kkk'));
    const bytes = bytesOf(upTo(OBJECTS), (index) => keep(count, `k${String(index).padStart(2, '0')}`));
    expect(bytes).toBeLessThan(81_920);
  });

  it.each<{ what: string; part: (prefix: string) => object }>([
    { what: 'labels', part: (prefix) => nodeWith(labelsOf(keysWith(`${prefix}-${'x'.repeat(50)}`, 5_000))) },
    {
      what: 'short labels and taints',
      part: (prefix) => nodeWith(labelsOf(keysWith(`${prefix}-`, 5_000)), taintsWith(prefix, 64)),
    },
    { what: 'text in the annotation allow-removal', part: (prefix) => allowing(prefix.repeat(100_000)) },
  ])('of a Node with as much $what as etcd accepts takes less than 80 KiB', ({ part }) => {
    expect(bytesOf(upTo(OBJECTS), (index) => keepNode(JSON.parse(JSON.stringify(part(`k${index}`)))))).toBeLessThan(
      81_920,
    );
  });

  it.each([
    { what: 'short taints', key: 'k' },
    { what: 'usual taints', key: 'x'.repeat(50) },
    { what: 'long taints', key: 'x'.repeat(240) },
  ])('of a Node with as many $what as are accepted takes less than 80 KiB', ({ key }) => {
    const keep = (count: number, prefix: string) =>
      keepNode(JSON.parse(JSON.stringify(nodeWith({}, taintsWith(`${prefix}${key}`, count)))));
    const count = most((some) => keep(some, 'kkk'));
    expect(count).toBeGreaterThan(100);
    const bytes = bytesOf(upTo(OBJECTS), (index) => keep(count, `k${String(index).padStart(2, '0')}`));
    expect(bytes).toBeLessThan(81_920);
  });
});

/** What one of the kept objects takes. */
function bytesOf(indexes: readonly number[], keep: (index: number) => unknown): number {
  const before = heapInUse();
  const kept = indexes.map(keep);
  const bytes = (heapInUse() - before) / indexes.length;
  expect(kept).toHaveLength(indexes.length);
  return bytes;
}
