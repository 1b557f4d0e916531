import type { ApiClient } from '../cluster/client/api-client.ts';
import { ADMISSION_REGISTRATION, CONFIGURATIONS } from '../cluster/webhook-configurations.ts';
import type { WebhookEntry } from '../policy/webhooks/entries.ts';

const PROBE_NAME = 'probe.taintkeeper.dev';

/**
 * Whether the API server knows `matchConditions`: on by default since Kubernetes 1.28, and there may be others. One that
 * does not drops the field without a word, so it is asked by a dry run.
 * @throws ApiError
 */
export async function knowsMatchConditions(client: ApiClient): Promise<boolean> {
  const { kind, resource } = CONFIGURATIONS.validate;
  const answer = await client.request<{ webhooks?: { matchConditions?: unknown }[] }>(
    'POST',
    `${ADMISSION_REGISTRATION}/${resource}`,
    {
      query: { dryRun: 'All' },
      body: {
        apiVersion: 'admissionregistration.k8s.io/v1',
        kind,
        metadata: { generateName: 'taintkeeper-probe-' },
        webhooks: [
          {
            name: PROBE_NAME,
            clientConfig: { url: `https://${PROBE_NAME}/` },
            rules: [],
            matchConditions: [{ name: 'never', expression: 'false' }],
            failurePolicy: 'Ignore',
            sideEffects: 'None',
            admissionReviewVersions: ['v1'],
          },
        ],
      },
    },
  );
  return answer.webhooks?.[0]?.matchConditions !== undefined;
}

/**
 * The entries for an API server that knows no conditions: every request comes that the selectors do not rule out, once in each phase, and none fails because
 * taintkeeper is down. What the conditions told apart would otherwise stop every update of a node.
 */
export function withoutConditions(entries: readonly WebhookEntry[]): WebhookEntry[] {
  const open = entries.map((entry): WebhookEntry => ({ ...entry, failurePolicy: 'Ignore', matchConditions: [] }));
  return open.filter(
    ({ phase, resource, operations }, index) =>
      !open
        .slice(0, index)
        .some(
          (other) => other.phase === phase && other.resource === resource && `${other.operations}` === `${operations}`,
        ),
  );
}
