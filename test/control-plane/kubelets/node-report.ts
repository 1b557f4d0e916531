/** The part of a Node's status that a kubelet answers for. */
export interface NodeStatus {
  readonly conditions?: readonly { readonly type: string; readonly status: string }[];
  readonly addresses?: readonly unknown[];
  readonly capacity?: object;
  readonly allocatable?: object;
  readonly nodeInfo?: { readonly kubeletVersion?: string };
}

const ROOM = { cpu: '32', memory: '256Gi', pods: '110' };

const HEALTHY = [
  ['Ready', 'True', 'KubeletReady', 'kubelet is posting ready status'],
  ['MemoryPressure', 'False', 'KubeletHasSufficientMemory', 'kubelet has sufficient memory available'],
  ['DiskPressure', 'False', 'KubeletHasNoDiskPressure', 'kubelet has no disk pressure'],
  ['PIDPressure', 'False', 'KubeletHasSufficientPID', 'kubelet has sufficient PID available'],
  ['NetworkUnavailable', 'False', 'RouteCreated', 'the route to the node is there'],
] as const;

const NODE_INFO = {
  ...{ architecture: 'amd64', operatingSystem: 'linux', kubeletVersion: 'v0.0.0-test' },
  ...{ bootID: '', containerRuntimeVersion: '', kernelVersion: '', kubeProxyVersion: '' },
  ...{ machineID: '', osImage: '', systemUUID: '' },
};

/**
 * What a kubelet reports of a node that is not Ready, as a strategic merge patch of its status; undefined for one that is: from
 * then on the Lease is its heartbeat. What somebody else has reported stays, but for what the node controller made Unknown.
 */
export function nodeReport(name: string, status: NodeStatus = {}, now = new Date().toISOString()): object | undefined {
  const known = new Map(status.conditions?.map(({ type, status }) => [type, status]));
  if (known.get('Ready') === 'True') return undefined;
  const isOurs = (type: string) => type === 'Ready' || (known.get(type) ?? 'Unknown') === 'Unknown';
  return {
    conditions: HEALTHY.filter(([type]) => isOurs(type)).map(([type, status, reason, message]) => ({
      ...{ type, status, reason, message },
      ...{ lastHeartbeatTime: now, lastTransitionTime: now },
    })),
    ...(status.addresses ? {} : { addresses: [{ type: 'Hostname', address: name }] }),
    ...(status.capacity ? {} : { capacity: ROOM }),
    ...(status.allocatable ? {} : { allocatable: ROOM }),
    ...(status.nodeInfo?.kubeletVersion ? {} : { nodeInfo: NODE_INFO }),
  };
}
