import { join } from 'node:path';
import { type GoModule, lockedVersion } from './go-modules.ts';

/** What the control plane is made of, and the Go package each is built from. */
const PACKAGES = {
  etcd: 'go.etcd.io/etcd/server/v3',
  'kube-apiserver': 'k8s.io/kubernetes/cmd/kube-apiserver',
  kubectl: 'k8s.io/kubernetes/cmd/kubectl',
  'kube-controller-manager': 'k8s.io/kubernetes/cmd/kube-controller-manager',
  'kube-scheduler': 'k8s.io/kubernetes/cmd/kube-scheduler',
} as const;

export type Binary = keyof typeof PACKAGES;

export const BINARIES = Object.keys(PACKAGES) as Binary[];

/** Without these no control plane starts. They are also all that the bundles of setup-envtest hold. */
export const REQUIRED: readonly Binary[] = ['etcd', 'kube-apiserver', 'kubectl'];

export const KUBERNETES: GoModule = {
  folder: join(import.meta.dirname, 'kubernetes-1.36'),
  packages: PACKAGES,
  linkerVariables,
};

/** The minor version of {@link KUBERNETES}, such as `1.36`. */
export const OUR_MINOR = lockedVersion(KUBERNETES, 'kube-apiserver').slice(1).split('.', 2).join('.');

/** The minor versions of Kubernetes that the tests run against besides: a folder each. */
export const OTHER_VERSIONS = ['1.33', '1.34', '1.35', '1.37'] as const;
export type OtherVersion = (typeof OTHER_VERSIONS)[number];

/** What some tests need besides Node.js and a control plane of {@link REQUIRED}. */
export interface Need {
  /** The controller manager and the scheduler. */
  readonly components: boolean;
  readonly browser: boolean;
  readonly karpenter: boolean;
  readonly realNodes: boolean;
  /** Of test/places, by name. */
  readonly places: readonly string[];
  /** API servers of other versions. */
  readonly versions: readonly OtherVersion[];
}

/** An API server of another version. Its etcd and kubectl are those of {@link KUBERNETES}. */
export function otherKubernetes(version: OtherVersion): GoModule {
  return {
    ...KUBERNETES,
    folder: join(import.meta.dirname, `kubernetes-${version}`),
    packages: { 'kube-apiserver': PACKAGES['kube-apiserver'] },
  };
}

/**
 * Which of them TAINTKEEPER_TEST_KUBERNETES asks for, for this run of the tests; `undefined` for the newest.
 *
 * @throws Error when there is no such version
 */
export function askedVersion(): OtherVersion | undefined {
  const asked = process.env.TAINTKEEPER_TEST_KUBERNETES;
  if (!asked) return undefined;
  const found = OTHER_VERSIONS.find((version) => version === asked);
  if (found) return found;
  throw new Error(
    `TAINTKEEPER_TEST_KUBERNETES=${asked}: there are only ${OTHER_VERSIONS.join(', ')} besides ${OUR_MINOR}`,
  );
}

/** `36` of the version asked for, or of {@link KUBERNETES}. */
export function testedMinor(): number {
  return minorOf(askedVersion() ?? OUR_MINOR);
}

/** Whether an API server of that version is older than the other components, which are of {@link KUBERNETES}. */
export function isOlder(version: OtherVersion): boolean {
  return minorOf(version) < minorOf(OUR_MINOR);
}

function minorOf(version: string): number {
  return Number(version.split('.')[1]);
}

/** Clients refuse to talk to a server that does not know its version. */
function linkerVariables(version: string): Record<string, string> {
  const [gitMajor = '', gitMinor = ''] = version.slice(1).split('.');
  const variables = { gitVersion: version, gitMajor, gitMinor };
  return Object.fromEntries(
    Object.entries(variables).map(([name, value]) => [`k8s.io/component-base/version.${name}`, value]),
  );
}
