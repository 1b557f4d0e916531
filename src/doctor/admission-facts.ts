import type { ApiClient } from '../cluster/client/api-client.ts';
import { ApiError } from '../cluster/client/api-error.ts';
import { POLICY_GROUP, POLICY_RESOURCES, viewPolicy } from '../cluster/policies.ts';
import type { Policy, PolicyKind } from '../policy/policy.ts';
import { type ConnectionFault, connectionFault } from './connection-fault.ts';
import { lookAtList, reasonOf } from './look.ts';
import { known, type Reading, unknown } from './reading.ts';
import { findTrial, type NodeLike, type Trial } from './trial-request.ts';

/**
 * What became of a dry-run request that the webhook has something to say to. `passed`: it said nothing, as when it is not asked,
 * or could not be and is to be ignored. `failed`: the API server could not ask a webhook, and says why.
 */
export type Admission =
  | { readonly outcome: 'answered' | 'passed'; readonly what: string }
  | { readonly outcome: 'failed'; readonly what: string; readonly webhook: string; readonly fault: ConnectionFault }
  /** No policy has anything to say to any request that could be tried. */
  | { readonly outcome: 'nothing to try' };

/** Several webhooks may be asked, one after the other, each for up to 2 s. */
const TRIAL_TIMEOUT_MS = 8_000;

export async function tryAdmission(client: ApiClient, namespace: string): Promise<Reading<Admission>> {
  const [requester, nodes, ...lists] = await Promise.all([
    whoAmI(client),
    lookAtList<NodeLike>(client, '/api/v1/nodes'),
    ...Object.entries(POLICY_RESOURCES).map(([kind, resource]) => policiesOf(client, kind as PolicyKind, resource)),
  ]);
  if (!requester.ok) return requester;
  if (!nodes.ok) return nodes;
  const policies: Policy[] = [];
  for (const list of lists) {
    if (!list.ok) return list;
    policies.push(...list.value);
  }
  const trial = findTrial({ policies, nodes: nodes.value, requester: requester.value, namespace });
  return trial ? await send(client, trial) : known({ outcome: 'nothing to try' });
}

async function send(client: ApiClient, trial: Trial): Promise<Reading<Admission>> {
  const { what, method, path, contentType, body } = trial;
  let warnings = '';
  try {
    const answer = await client.request(method, path, {
      query: { dryRun: 'All' },
      body,
      contentType,
      timeoutMs: TRIAL_TIMEOUT_MS,
      onHeaders: ({ warning }) => {
        warnings = String(warning ?? '');
      },
    });
    // In mode Audit the request passes, and the webhook warns.
    const answered = trial.shows(answer) || /(Taint|Toleration)Policy /.test(warnings);
    return known({ outcome: answered ? 'answered' : 'passed', what });
  } catch (error) {
    return readRefusal(error, what);
  }
}

/** By the wording of k8s.io/apiserver/pkg/admission/plugin/webhook: `errors/statuserror.go`, and `ErrCallingWebhook`. */
export function readRefusal(error: unknown, what: string): Reading<Admission> {
  if (!(error instanceof ApiError)) return unknown(reasonOf(error));
  const [, denier] = /admission webhook "([^"]*)" denied the request/.exec(error.message) ?? [];
  if (denier !== undefined) {
    return isOurs(denier)
      ? known({ outcome: 'answered', what })
      : unknown(`${what}, as a trial, is refused by ${denier}, which is not taintkeeper's`);
  }
  const [, webhook, reason = ''] = /failed calling webhook "([^"]*)": (.*)$/s.exec(error.message) ?? [];
  if (webhook !== undefined)
    return known({ outcome: 'failed', what, webhook, fault: connectionFault(innermost(reason)) });
  return unknown(reasonOf(error));
}

/** The names of our webhooks end like this; see src/webhooks/entries.ts. */
export function isOurs(webhook: string): boolean {
  return webhook.endsWith('.taintkeeper.dev');
}

/** Without the URL that was posted to, and the words around it. */
function innermost(reason: string): string {
  return reason.replace(/^failed to call webhook: /, '').replace(/^Post "[^"]*": /, '');
}

async function whoAmI(client: ApiClient): Promise<Reading<{ username: string; groups: readonly string[] }>> {
  try {
    const body = { apiVersion: 'authentication.k8s.io/v1', kind: 'SelfSubjectReview' };
    const { status } = await client.request<{
      status: { userInfo: { username: string; groups?: readonly string[] } };
    }>('POST', '/apis/authentication.k8s.io/v1/selfsubjectreviews', { body });
    return known({ username: status.userInfo.username, groups: status.userInfo.groups ?? [] });
  } catch (error) {
    return unknown(reasonOf(error));
  }
}

async function policiesOf(client: ApiClient, kind: PolicyKind, resource: string): Promise<Reading<readonly Policy[]>> {
  const list = await lookAtList<object>(client, `${POLICY_GROUP}/${resource}`);
  if (!list.ok) return list;
  return known(list.value.flatMap((object) => viewPolicy(kind, object).inForce?.policy ?? []));
}
