import { count } from '../../kubernetes/text.ts';
import type { CheckResult } from '../check.ts';
import type { ConfigurationFacts } from '../configuration-facts.ts';
import { found } from './found.ts';

const NAME = 'versions';
/** The first with `matchConditions` that are on by default, and the first whose clusters cannot switch them off. */
const [OLDEST, OLDEST_STABLE] = [28, 30];
const MAX_SKEW = 3;

/** Whether this Kubernetes is one that taintkeeper is made for, and the kubelets are ones that the API server is made for. */
export function checkVersions({ version, nodes }: Pick<ConfigurationFacts, 'version' | 'nodes'>): CheckResult[] {
  if (!version.ok) return [found(NAME, 'skipped', version.why)];
  const minor = minorOf(version.value);
  if (minor === undefined) return [found(NAME, 'skipped', `the API server calls its version ${version.value}`)];
  const results = [...apiServer(version.value, minor), ...kubelets(minor, nodes.ok ? nodes.value : [])];
  return results.length > 0 ? results : [found(NAME, 'ok', `API server ${version.value}`)];
}

function apiServer(version: string, minor: number): CheckResult[] {
  if (minor < OLDEST) {
    const evidence = `API server ${version} is older than 1.${OLDEST}: it knows no matchConditions, so every change of a node that its labels do not rule out is sent to the webhook, and nothing fails closed`;
    return [found(NAME, 'trouble', evidence, `upgrade Kubernetes to 1.${OLDEST} or newer`)];
  }
  if (minor < OLDEST_STABLE) {
    return [found(NAME, 'note', `API server ${version}: matchConditions are beta there, and can be switched off`)];
  }
  return [];
}

/** https://kubernetes.io/releases/version-skew-policy/ */
function kubelets(minor: number, nodes: ConfigurationNodes): CheckResult[] {
  const apart = nodes.flatMap(({ name, kubeletVersion }) => {
    const theirs = minorOf(kubeletVersion);
    return theirs !== undefined && (theirs > minor || theirs < minor - MAX_SKEW) ? [{ name, kubeletVersion }] : [];
  });
  const [first] = apart;
  if (first === undefined) return [];
  const evidence = `${count(apart.length, 'kubelet')} too far from API server 1.${minor}, such as ${first.kubeletVersion} on ${first.name}`;
  return [
    found(NAME, 'note', `${evidence}; Kubernetes supports those of up to ${MAX_SKEW} minor versions before its own`),
  ];
}

type ConfigurationNodes = readonly { readonly name: string; readonly kubeletVersion: string }[];

/** Of `v1.36.3`, `v1.30+` or `v1.31.2-gke.1`. */
function minorOf(version: string): number | undefined {
  const minor = /^v1\.(\d+)/.exec(version)?.[1];
  return minor === undefined ? undefined : Number(minor);
}
