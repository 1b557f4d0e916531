import { count } from '../../text/counts.ts';
import { OLDEST_KUBERNETES } from '../../version.ts';
import { type Finding, finding, needs } from '../check.ts';
import type { Facts } from '../facts/facts.ts';

const MAX_SKEW = 3;

/** Checks that taintkeeper supports this version of Kubernetes, and that the API server supports the kubelets. */
export function checkVersions({ version, nodes }: Pick<Facts, 'version' | 'nodes'>): readonly Finding[] {
  return needs({ version }, (known) => versions(known.version, nodes.ok ? nodes.value : []));
}

function versions(version: string, nodes: Kubelets): Finding[] {
  const minor = minorOf(version);
  if (minor === undefined)
    return [finding('skipped', `the API server reports version ${version}, which is no version of Kubernetes 1`)];
  const results = [...apiServer(version, minor), ...kubelets(minor, nodes)];
  return results.length > 0 ? results : [finding('ok', `API server ${version}`)];
}

function apiServer(version: string, minor: number): Finding[] {
  if (minor >= Number(OLDEST_KUBERNETES.slice('1.'.length))) return [];
  const evidence = `API server ${version} is older than ${OLDEST_KUBERNETES}: it does not serve all kinds of objects that the installation needs`;
  return [finding('problem', evidence, `upgrade Kubernetes to ${OLDEST_KUBERNETES} or newer`)];
}

/** https://kubernetes.io/releases/version-skew-policy/ */
function kubelets(minor: number, nodes: Kubelets): Finding[] {
  const apart = nodes.flatMap(({ name, kubeletVersion }) => {
    const theirs = minorOf(kubeletVersion);
    return theirs !== undefined && (theirs > minor || theirs < minor - MAX_SKEW) ? [{ name, kubeletVersion }] : [];
  });
  const [first] = apart;
  if (first === undefined) return [];
  const evidence = `${count(apart.length, 'kubelet')} ${apart.length === 1 ? 'is' : 'are'} too far from API server 1.${minor}, such as ${first.kubeletVersion} on ${first.name}`;
  return [
    finding(
      'note',
      `${evidence}; Kubernetes supports kubelets of up to ${MAX_SKEW} minor versions before the API server's`,
    ),
  ];
}

type Kubelets = readonly { readonly name: string; readonly kubeletVersion: string }[];

/** The minor version of `v1.36.3`, `v1.30+` or `v1.31.2-gke.1`. */
function minorOf(version: string): number | undefined {
  const minor = /^v1\.(\d+)/.exec(version)?.[1];
  return minor === undefined ? undefined : Number(minor);
}
