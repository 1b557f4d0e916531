import { type ClusterDaemonSet, projectDaemonSet } from '../../src/cluster/objects/cluster-objects.ts';
import type { Toleration } from '../../src/kubernetes/toleration.ts';

interface Daemon {
  readonly namespace: string;
  readonly name: string;
  readonly tolerations?: readonly Toleration[];
  readonly nodeSelector?: Readonly<Record<string, string>>;
  readonly unavailable?: number;
  /** Its pods' priority class is system-node-critical. */
  readonly isCritical?: boolean;
}

const ALL: readonly Toleration[] = [{ operator: 'Exists' }];
const CONTROL_PLANE: readonly Toleration[] = [
  { key: 'node-role.kubernetes.io/control-plane', operator: 'Exists', effect: 'NoSchedule' },
];
const MASTER: readonly Toleration[] = [
  { key: 'node-role.kubernetes.io/master', operator: 'Exists', effect: 'NoSchedule' },
];
const DEDICATED: readonly Toleration[] = [{ key: 'dedicated', operator: 'Exists', effect: 'NoSchedule' }];
const GPU: readonly Toleration[] = [{ key: 'dedicated', operator: 'Equal', value: 'gpu', effect: 'NoSchedule' }];
const EDGE: readonly Toleration[] = [{ key: 'example.com/edge', operator: 'Exists', effect: 'NoExecute' }];

const KNOWN: readonly Daemon[] = [
  { namespace: 'cilium', name: 'cilium', tolerations: ALL, isCritical: true },
  { namespace: 'gpu-operator', name: 'device-plugin', tolerations: GPU, nodeSelector: { pool: 'gpu' } },
  { namespace: 'ingress', name: 'edge-proxy', tolerations: EDGE, nodeSelector: { pool: 'edge' } },
  { namespace: 'kube-flannel', name: 'kube-flannel-ds', tolerations: MASTER, isCritical: true },
  { namespace: 'kube-system', name: 'kube-proxy', tolerations: ALL, isCritical: true },
  { namespace: 'kube-system', name: 'node-local-dns', tolerations: [...CONTROL_PLANE, ...DEDICATED] },
  { namespace: 'logging', name: 'fluent-bit', tolerations: [...CONTROL_PLANE, ...DEDICATED, ...EDGE], unavailable: 2 },
  { namespace: 'monitoring', name: 'node-exporter', tolerations: ALL },
  { namespace: 'monitoring', name: 'gpu-exporter', tolerations: GPU, nodeSelector: { pool: 'gpu' } },
  { namespace: 'rook-ceph', name: 'csi-rbdplugin', tolerations: DEDICATED },
  { namespace: 'rook-ceph', name: 'osd-prepare', nodeSelector: { pool: 'storage' } },
  { namespace: 'security', name: 'falco', tolerations: [...CONTROL_PLANE, ...EDGE] },
];
const TOLERATED: readonly (readonly Toleration[])[] = [[], ALL, CONTROL_PLANE, DEDICATED, [...CONTROL_PLANE, ...EDGE]];
/** A CNI that runs everywhere, except on the nodes of one pool. */
const EDGE_OUT: readonly Toleration[] = [
  ...CONTROL_PLANE,
  ...MASTER,
  ...DEDICATED,
  { key: 'node-role.kubernetes.io/control-plane', operator: 'Exists' },
];
const ZONES = ['a', 'b', 'c'];

/**
 * Daemons as clusters have them, and as many agents of teams as it takes. The same ones each time.
 * @param fault what is wrong with them; by default several things
 */
export function sampleDaemonSets(count: number, fault: 'several' | 'cni' | 'none' = 'several'): ClusterDaemonSet[] {
  const agents = Array.from({ length: Math.max(0, count - KNOWN.length) }, (_, index): Daemon => {
    const zone = ZONES[index % 4];
    return {
      namespace: `team-${String(index % 7).padStart(2, '0')}`,
      name: `agent-${String(index).padStart(2, '0')}`,
      tolerations: TOLERATED[index % TOLERATED.length] ?? [],
      ...(zone === undefined ? {} : { nodeSelector: { 'topology.kubernetes.io/zone': zone } }),
    };
  });
  const all = [...KNOWN, ...agents].slice(0, count);
  if (fault === 'several') return all.map(daemonSetOf);
  return all.map((daemon) =>
    daemonSetOf({
      ...daemon,
      tolerations: fault === 'cni' && daemon.name === 'kube-flannel-ds' ? EDGE_OUT : ALL,
      unavailable: 0,
    }),
  );
}

function daemonSetOf({ namespace, name, tolerations = [], nodeSelector = {}, unavailable = 0, isCritical }: Daemon) {
  const priorityClassName = isCritical ? 'system-node-critical' : '';
  return projectDaemonSet({
    metadata: { namespace, name, generation: 1 },
    spec: { template: { spec: { tolerations, nodeSelector, priorityClassName } } },
    status: {
      observedGeneration: 1,
      desiredNumberScheduled: 10,
      updatedNumberScheduled: 10,
      numberUnavailable: unavailable,
    },
  });
}
