import { isOurs, shortName } from '../../cluster/installation/own-names.ts';
import { count } from '../../text/counts.ts';
import { type Finding, finding } from '../check.ts';
import type { Facts } from '../facts/facts.ts';

const FAIL_OPEN = 'apiserver_admission_webhook_fail_open_count';
const REJECTIONS = 'apiserver_admission_webhook_rejection_count';

/**
 * Reports how many calls of our webhooks failed, by the API server's metrics. It is a note, because the metrics are those of one API server of
 * several, which counts since its start.
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
    ...(total(passed) > 0
      ? [`${count(total(passed), 'request')} passed without an answer (${byWebhook(passed)})`]
      : []),
    ...(total(failed) > 0
      ? [
          `${count(total(failed), 'request')} ${total(failed) === 1 ? 'was' : 'were'} refused because the webhook could not be called (${byWebhook(failed)})`,
        ]
      : []),
  ];
  if (said.length === 0) {
    const denied = total(refused);
    return [finding('ok', `this API server counted no failed call${since}; refusals by policies: ${denied}`)];
  }
  const remedy = `see whether it grows: kubectl get --raw /metrics | grep -e ${FAIL_OPEN} -e ${REJECTIONS}`;
  return [finding('note', `this API server counted failed calls${since}: ${said.join('; ')}`, remedy)];
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
