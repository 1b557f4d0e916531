import type { ControlPlane } from './control-plane.ts';
import { succeeded } from './rest.ts';
import { admin } from './users.ts';
import { waitUntil } from './wait-until.ts';

const EFFECT_TIMEOUT_MS = 10_000;

export const CONFIGURATION_NAME = 'taintkeeper';
export const MUTATING_WEBHOOK = 'mutate.taintkeeper.dev';
export const VALIDATING_WEBHOOK = 'validate.taintkeeper.dev';

const CONFIGURATIONS = [
  { kind: 'MutatingWebhookConfiguration', webhook: MUTATING_WEBHOOK, path: '/mutate' },
  { kind: 'ValidatingWebhookConfiguration', webhook: VALIDATING_WEBHOOK, path: '/validate' },
] as const;

export interface WebhookOptions {
  /** Where the webhook listens, without a path; its certificate must name this host. */
  url: string;
  /** PEM in base64. */
  caBundle: string;
}

/**
 * Registers /mutate and /validate for the creation and update of nodes and DaemonSets.
 *
 * @returns once the API server calls both of them
 * @throws Error when it does not within 10 s
 */
export async function registerWebhook(cp: ControlPlane, { url, caBundle }: WebhookOptions): Promise<void> {
  for (const { kind, webhook, path } of CONFIGURATIONS) {
    const body = {
      apiVersion: 'admissionregistration.k8s.io/v1',
      kind,
      metadata: { name: CONFIGURATION_NAME },
      webhooks: [
        {
          name: webhook,
          clientConfig: { url: url + path, caBundle },
          rules: [rule('', 'nodes'), rule('apps', 'daemonsets')],
          // A webhook that does not answer is noticed.
          failurePolicy: 'Fail',
          sideEffects: 'None',
          admissionReviewVersions: ['v1'],
          timeoutSeconds: 5,
        },
      ],
    };
    await succeeded(cp.request(admin, 'POST', collection(kind), { body }));
  }
  await waitUntilCalled(cp, [MUTATING_WEBHOOK, VALIDATING_WEBHOOK]);
}

/** Takes away what registerWebhook registered, and returns once the API server calls neither any more. */
export async function unregisterWebhook(cp: ControlPlane): Promise<void> {
  for (const { kind } of CONFIGURATIONS) {
    await succeeded(cp.request(admin, 'DELETE', `${collection(kind)}/${CONFIGURATION_NAME}`));
  }
  await waitForProbe(cp, 'still calls', (calls) =>
    [MUTATING_WEBHOOK, VALIDATING_WEBHOOK].every((name) => !calls(name)),
  );
}

/**
 * Waits until a request reaches webhooks. The API server learns of a configuration through a watch of its own, some
 * time after it has stored it; that it calls a webhook is seen in its own metrics, so the webhook need not count.
 *
 * @param probe a request that must reach all of them; by default a node is created with dryRun
 * @throws Error when one is not called within 10 s
 */
export function waitUntilCalled(
  cp: ControlPlane,
  webhooks: readonly string[],
  probe = createNodeDryRun,
): Promise<void> {
  return waitForProbe(cp, `does not call all of ${webhooks.join(', ')}`, (calls) => webhooks.every(calls), probe);
}

async function waitForProbe(
  cp: ControlPlane,
  complaint: string,
  done: (calls: (webhook: string) => boolean) => boolean,
  probe = createNodeDryRun,
): Promise<void> {
  let said: unknown;
  await waitUntil(
    async () => {
      const before = await callCounts(cp);
      said = await probe(cp);
      const after = await callCounts(cp);
      const calls = (webhook: string) => (after.get(webhook) ?? 0) > (before.get(webhook) ?? 0);
      return done(calls) ? true : undefined;
    },
    {
      timeoutMs: EFFECT_TIMEOUT_MS,
      otherwise: () => `the API server ${complaint}; the last probe: ${JSON.stringify(said)}`,
    },
  );
}

/** How often the API server has called each webhook, failed calls included. */
async function callCounts(cp: ControlPlane): Promise<Map<string, number>> {
  const { body } = await cp.request<string>(admin, 'GET', '/metrics');
  const counts = new Map<string, number>();
  for (const [, name = '', count] of body.matchAll(
    /^apiserver_admission_webhook_request_total\{[^}]*\bname="([^"]*)"[^}]*\} (\S+)$/gm,
  )) {
    counts.set(name, (counts.get(name) ?? 0) + Number(count));
  }
  return counts;
}

async function createNodeDryRun(cp: ControlPlane): Promise<unknown> {
  const body = { metadata: { name: 'taintkeeper-probe' } };
  return (await cp.request(admin, 'POST', '/api/v1/nodes?dryRun=All', { body })).body;
}

function collection(kind: string): string {
  return `/apis/admissionregistration.k8s.io/v1/${kind.toLowerCase()}s`;
}

function rule(group: string, resource: string): object {
  return { apiGroups: [group], apiVersions: ['v1'], resources: [resource], operations: ['CREATE', 'UPDATE'] };
}
