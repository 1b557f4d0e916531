import type { Taint } from '../test/e2e/nodes.ts';

/**
 * Nodes as large as those of clusters that have run for a while: 40 KB as JSON. A kubelet reports 50 images (its
 * --node-status-max-images), node-feature-discovery adds its labels, agents their annotations, and each of them has its share
 * of managedFields, because each writes under its own name.
 */
const IMAGES = 50;
const FEATURES = 110;
const AGENTS = 28;

/** The label by which a policy selects them. */
export const POOL = { 'example.com/pool': 'workers' };
/** The taint that each of them is to have. */
export const TAINT: Taint = { key: 'example.com/dedicated', value: 'batch', effect: 'NoSchedule' };

const times = <Item>(count: number, make: (index: number) => Item) => Array.from({ length: count }, (_, i) => make(i));
const hex = (seed: number, length: number) =>
  times(Math.ceil(length / 8), (n) => ((seed + 1) * (n + 1) * 2_654_435_761).toString(16).slice(-8))
    .join('')
    .slice(0, length);

/** The labels that node-feature-discovery gives a node, by the node's number. */
export const features = (node: number) =>
  Object.fromEntries(
    times(FEATURES, (n) => [
      `feature.node.kubernetes.io/cpu-cpuid.FEATURE-${hex(n, 8)}`,
      (node + n) % 7 ? 'true' : 'false',
    ]),
  );

/** What agents note on it. */
export const annotations = (node: number) =>
  Object.fromEntries(times(AGENTS, (n) => [`agent-${n}.example.com/state-of-the-node`, hex(node * AGENTS + n, 240)]));

const images = (node: number) =>
  times(IMAGES, (n) => {
    const repository = `registry.eu-west-1.example.com/platform/team-${n % 8}/service-${hex(n, 12)}`;
    return {
      names: [`${repository}@sha256:${hex(node + n, 64)}`, `${repository}:v1.${n}.${node % 10}-${hex(n, 10)}`],
      sizeBytes: 20_000_000 + n * 1_234_567,
    };
  });

const CONDITIONS = [
  ['NetworkUnavailable', 'False', 'RouteCreated', 'the agent of the network runs on this node'],
  ['MemoryPressure', 'False', 'KubeletHasSufficientMemory', 'kubelet has sufficient memory available'],
  ['DiskPressure', 'False', 'KubeletHasNoDiskPressure', 'kubelet has no disk pressure'],
  ['PIDPressure', 'False', 'KubeletHasSufficientPID', 'kubelet has sufficient PID available'],
  ['Ready', 'True', 'KubeletReady', 'kubelet is posting ready status'],
];

/** What its kubelet reports. */
export function status(node: number) {
  const now = new Date().toISOString();
  const resources = {
    cpu: '64',
    memory: '263856532Ki',
    pods: '110',
    'ephemeral-storage': '1843200Mi',
    'hugepages-2Mi': '0',
  };
  return {
    addresses: [{ type: 'InternalIP', address: `10.${node >> 16}.${(node >> 8) & 255}.${node & 255}` }],
    allocatable: resources,
    capacity: resources,
    conditions: CONDITIONS.map(([type, status, reason, message]) => ({
      ...{ type, status, reason, message },
      // A kubelet leaves the time of the transition as it is.
      ...{ lastHeartbeatTime: now, lastTransitionTime: '2026-01-01T00:00:00Z' },
    })),
    images: images(node),
    nodeInfo: {
      ...{ architecture: 'amd64', operatingSystem: 'linux', kernelVersion: '6.8.0-60-generic', osImage: 'Linux' },
      ...{ bootID: hex(node, 36), machineID: hex(node, 32), systemUUID: hex(node, 36) },
      ...{ kubeletVersion: 'v1.36.0', kubeProxyVersion: '', containerRuntimeVersion: 'containerd://2.1.0' },
    },
  };
}
