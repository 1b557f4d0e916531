import { isOurs, shortName } from '../../cluster/own-names.ts';
import { count } from '../../kubernetes/text.ts';
import { OLDEST_KUBERNETES } from '../../version.ts';
import { type Finding, finding } from '../check.ts';
import type { Facts } from '../facts.ts';

const FAIL_OPEN = 'apiserver_admission_webhook_fail_open_count';
const REJECTIONS = 'apiserver_admission_webhook_rejection_count';

/**
 * Reports how many calls of our webhooks failed, by the API server's metrics. It is a note, because one of several API servers was asked,
 * and it counts since its start.
 */
export function checkFailedCalls({ metrics }: Pick<Facts, 'metrics'>): Finding[] {
  if (!metrics.ok) {
    const remedy = `as a user who may read /metrics: kubectl get --raw /metrics | grep -e ${FAIL_OPEN} -e ${REJECTIONS}`;
    return [finding('skipped', metrics.why, remedy)];
  }
  const samples = samplesOf(metrics.value, [FAIL_OPEN, REJECTIONS]).filter(({ labels }) => isOurs(labels.name ?? ''));
  const passed = samples.filter(({ metric }) => metric === FAIL_OPEN);
  const refused = samples.filter(({ metric }) => metric === REJECTIONS);
  const failed = refused.filter(({ labels }) => labels.error_type !== 'no_error');
  const started = samplesOf(metrics.value, ['process_start_time_seconds'])[0]?.value;
  const since = started ? ` since ${new Date(started * 1000).toISOString()}` : '';
  const said = [
    ...(total(passed) > 0 ? [`${total(passed)} passed without an answer (${byWebhook(passed)})`] : []),
    ...(total(failed) > 0
      ? [`${total(failed)} refused because the webhook could not be called (${byWebhook(failed)})`]
      : []),
  ];
  if (said.length === 0) {
    const denied = total(refused);
    return [finding('ok', `none, by this API server's count${since}; ${denied} refused by policies`)];
  }
  const remedy = `see whether it grows: kubectl get --raw /metrics | grep -e ${FAIL_OPEN} -e ${REJECTIONS}`;
  return [finding('note', `requests, by this API server's count${since}: ${said.join('; ')}`, remedy)];
}

interface Sample {
  readonly metric: string;
  readonly labels: Readonly<Record<string, string>>;
  readonly value: number;
}

/** The samples of these metrics in Prometheus' text format. */
function samplesOf(text: string, metrics: readonly string[]): Sample[] {
  const line = new RegExp(`^(${metrics.join('|')})(?:\\{(.*)\\})? (\\S+)`, 'gm');
  return [...text.matchAll(line)].map(([, metric = '', labels = '', value]) => ({
    metric,
    labels: Object.fromEntries(
      [...labels.matchAll(/(?<!\w)(\w+)="((?:[^"\\]|\\.)*)"/g)].map(([, name, text]) => [name, text]),
    ),
    value: Number(value),
  }));
}

function total(samples: readonly Sample[]): number {
  return samples.reduce((sum, { value }) => sum + value, 0);
}

function byWebhook(samples: readonly Sample[]): string {
  const groups = Map.groupBy(
    samples.filter(({ value }) => value > 0),
    ({ labels }) => shortName(labels.name ?? ''),
  );
  return [...groups].map(([name, group]) => `${name} ${total(group)}`).join(', ');
}

const MAX_SKEW = 3;

/** Checks that taintkeeper supports this version of Kubernetes, and that the API server supports the kubelets. */
export function checkVersions({ version, nodes }: Pick<Facts, 'version' | 'nodes'>): Finding[] {
  if (!version.ok) return [finding('skipped', version.why)];
  const minor = minorOf(version.value);
  if (minor === undefined) return [finding('skipped', `the API server calls its version ${version.value}`)];
  const results = [...apiServer(version.value, minor), ...kubelets(minor, nodes.ok ? nodes.value : [])];
  return results.length > 0 ? results : [finding('ok', `API server ${version.value}`)];
}

function apiServer(version: string, minor: number): Finding[] {
  if (minor >= Number(OLDEST_KUBERNETES.slice('1.'.length))) return [];
  const evidence = `API server ${version} is older than ${OLDEST_KUBERNETES}: it does not serve all that the installation has`;
  return [finding('problem', evidence, `upgrade Kubernetes to ${OLDEST_KUBERNETES} or newer`)];
}

/** https://kubernetes.io/releases/version-skew-policy/ */
function kubelets(minor: number, nodes: ConfigurationNodes): Finding[] {
  const apart = nodes.flatMap(({ name, kubeletVersion }) => {
    const theirs = minorOf(kubeletVersion);
    return theirs !== undefined && (theirs > minor || theirs < minor - MAX_SKEW) ? [{ name, kubeletVersion }] : [];
  });
  const [first] = apart;
  if (first === undefined) return [];
  const evidence = `${count(apart.length, 'kubelet')} too far from API server 1.${minor}, such as ${first.kubeletVersion} on ${first.name}`;
  return [finding('note', `${evidence}; Kubernetes supports those of up to ${MAX_SKEW} minor versions before its own`)];
}

type ConfigurationNodes = readonly { readonly name: string; readonly kubeletVersion: string }[];

/** The minor version of `v1.36.3`, `v1.30+` or `v1.31.2-gke.1`. */
function minorOf(version: string): number | undefined {
  const minor = /^v1\.(\d+)/.exec(version)?.[1];
  return minor === undefined ? undefined : Number(minor);
}
