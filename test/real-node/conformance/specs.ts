/** The specs that taintkeeper could affect: taints, DaemonSets, scheduling, admission, node Leases. */
export const FOCUS: readonly string[] = [
  'NoExecuteTaintManager',
  'Daemon set',
  'SchedulerPredicates',
  'SchedulerPreemption',
  'NodeLease',
  'ValidatingAdmissionPolicy',
  'MutatingAdmissionPolicy',
  'AdmissionWebhook',
];

/** What is left out, and why. */
export const SKIP: readonly { readonly pattern: string; readonly why: string }[] = [
  { pattern: '\\[Slow\\]', why: 'each of them waits for many minutes' },
  { pattern: '\\[Flaky\\]', why: 'Kubernetes itself does not rely on them' },
  { pattern: '\\[Disruptive\\]', why: 'they restart nodes by means of a cloud provider' },
  { pattern: '\\[Feature:', why: 'the nodes lack the feature' },
];
