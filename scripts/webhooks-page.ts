import { join } from 'node:path';
import { readBuiltinPolicies } from '../src/files/builtin-policies.ts';
import { parsePolicies, readPolicyFiles } from '../src/files/policy-files.ts';
import { webhookEntries } from '../src/webhooks/webhook-entries.ts';
import { checkExplained } from './explained.ts';

const ROOT = join(import.meta.dirname, '..');

/** Policies that together need every webhook. */
const EXAMPLES = ['examples/policies', 'examples/audit/policy.yaml'];

/** Which of its requests the API server sends to a webhook. */
const REQUESTS: Readonly<Record<string, string>> = {
  protect: 'those that remove a taint which a policy with `failurePolicy: Fail` protects, unless it exempts the user',
  restore:
    'those that remove a taint which a policy in mode `Restore`, or one with `exempt`, protects; that add a taint to a node with the annotation `allow-removal`; label ' +
    'changes by which a policy selects a node that lacks its required taint',
  report:
    'those that policies with `failurePolicy: Ignore` forbid, or that policies in mode `Audit` report; label changes by which a waiting node [loses its startup ' +
    'taint](../startup-taints.md#delete-a-policy-with-ensure-untilready)',
  register:
    'nodes that lack a required or startup taint, or the boot of [`afterReboot: SetAgain`](../startup-taints.md#afterreboot-setagain); nodes with the annotation ' +
    '`allow-removal`',
  'report-registration': 'nodes that still lack a required or startup taint, also by a policy in mode `Audit`',
  tolerate: 'DaemonSets without a toleration that a policy in mode `Mutate` requires',
  'report-tolerations': 'DaemonSets that still lack a required toleration, also by a policy in mode `Audit`',
};

/** The reference page of the webhooks. @throws Error where the policies need other ones */
export async function webhooksPage(): Promise<string> {
  const examples = await readPolicyFiles(EXAMPLES.map((file) => join(ROOT, file)));
  const entries = webhookEntries(parsePolicies([...(await readBuiltinPolicies()), ...examples]));
  const webhooks = entries.map(({ name, ...entry }) => ({ name: name.replace('.taintkeeper.dev', ''), ...entry }));
  checkExplained(
    'scripts/webhooks-page.ts',
    Object.keys(REQUESTS),
    webhooks.map(({ name }) => name),
  );
  return [
    '# Webhooks\n',
    'The leader writes a MutatingWebhookConfiguration and a ValidatingWebhookConfiguration, both named `taintkeeper`, with only the webhooks that the policies need. It corrects changes ' +
      'by other writers, and removes both with the last policy. It registers webhooks once it has called one over the Service. If a pod cannot call itself over a Service, a ready ' +
      'endpoint suffices (condition `Ready`, reason `ServiceNotReachable`).\n',
    'The API server evaluates the match conditions itself, so a request that no policy concerns passes even if taintkeeper [does not answer](../availability.md). The full name ends ' +
      'with `.taintkeeper.dev`.\n',
    '| webhook | requests | which of them | `failurePolicy` |',
    '| --- | --- | --- | --- |',
    ...webhooks.map(
      ({ name, operations, resource, failurePolicy }) =>
        `| \`${name}\` | ${operations.join(', ')} ${resource} | ${REQUESTS[name]} | ${failurePolicy} |`,
    ),
    '',
    'Beside any of these, the leader registers `warn`, which [warns](../operating.md#warnings-at-apply) of mistakes in TaintPolicies. It never refuses, and its ' +
      '`failurePolicy` is `Ignore`.\n',
    'The API server never sends these to any of them:\n',
    '- `nodes/status`, Leases, certificate requests, and pods;',
    "- objects in taintkeeper's own namespace;",
    '- updates of nodes without the labels that all policies of the webhook require, before and after the update;',
    '- DaemonSets of other namespaces, if all policies name their namespaces without `*`.\n',
    '## Additional requests\n',
    'The match conditions are exact within the limits of CEL in the API server. Beyond these, a webhook gets additional requests, and never fewer:\n',
    '- **Many taints or tolerations**: objects with more than 384 of them, or with more than 192 if a hundred policies have selectors of their own.',
    '- **Large requesters**: users in more than 64 groups, or with a name of more than 256 characters, count as not exempt by a pattern.',
    '- **Large annotations**: `allow-removal` with more than 1,024 characters.',
    '- **Many policies**: more than a hundred policies with selectors of their own can be too long for one expression. The log of the leader then names the webhook: `webhooks that are called ' +
      'more often than necessary`.',
    '',
  ].join('\n');
}
