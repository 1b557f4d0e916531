/** What to run, by name: regular expressions, one of which has to match a spec's whole name. */
export const SETS = {
  /** What taintkeeper could affect: taints, DaemonSets, scheduling, admission, node Leases. */
  affected: [
    'NoExecuteTaintManager',
    'Daemon set',
    'SchedulerPredicates',
    'SchedulerPreemption',
    'NodeLease',
    'ValidatingAdmissionPolicy',
    'MutatingAdmissionPolicy',
    'AdmissionWebhook',
  ],
  /** What every certified cluster has to pass. */
  conformance: ['\\[Conformance\\]'],
} as const;

export type SetName = keyof typeof SETS;

/** The page beside this file with the outcome of each set. */
export const PAGES: Readonly<Record<SetName, string>> = {
  affected: 'affected.md',
  conformance: 'conformance.md',
};

/** What is left out of both, and why. */
export const SKIP: readonly { readonly pattern: string; readonly why: string }[] = [
  { pattern: '\\[Slow\\]', why: 'each of them waits for many minutes' },
  { pattern: '\\[Flaky\\]', why: 'Kubernetes itself does not rely on them' },
  { pattern: '\\[Disruptive\\]', why: 'they restart nodes by means of a cloud provider' },
  { pattern: '\\[Feature:', why: 'the nodes lack the feature' },
  ...['\\[sig-network\\] DNS ', 'ServiceAccountIssuerDiscovery', 'Guestbook application'].map((pattern) => ({
    pattern,
    why: 'the nodes have no cluster DNS',
  })),
  {
    pattern: '\\[sig-network\\] Services .*(ExternalName|NodePort|same port)',
    why: 'they look Services up in the cluster DNS, or need another netcat than that of BusyBox',
  },
  ...['Aggregator', 'Update Demo', 'ImageVolume'].map((pattern) => ({
    pattern,
    why: 'their images cannot be built from Go modules',
  })),
];

/** Specs that run, and fail on these nodes with and without taintkeeper. */
export const FAIL_ON_THESE_NODES: readonly { readonly pattern: RegExp; readonly why: string }[] = [
  {
    pattern: /session affinity .*service with type clusterIP|should serve (a basic|multiport) endpoints? from pods/,
    why: 'they call Services by name, and the nodes have no cluster DNS',
  },
  {
    pattern: /no conflict between pods with same hostPort but .* \[Conformance\]|node-pod communication: udp/,
    why: 'they need another netcat than that of BusyBox',
  },
  {
    pattern: /should not write to root filesystem/,
    why: "they expect a message that BusyBox's shell words differently",
  },
];
