import { expect, it } from 'vitest';
import { checkOtherWebhooks } from '../../../src/doctor/checks/other-webhooks.ts';
import { readingOf } from '../../../src/doctor/facts/reading.ts';
import type { RegisteredWebhook, WebhookRule } from '../../../src/doctor/facts/registered-webhooks.ts';
import { healthyFacts, othersWebhook } from './facts.ts';

const NODES: WebhookRule = {
  apiGroups: [''],
  apiVersions: ['v1'],
  resources: ['nodes'],
  operations: ['UPDATE'],
  scope: '*',
};
const rule = (difference: WebhookRule): Partial<RegisteredWebhook> => ({ rules: [{ ...NODES, ...difference }] });

function check(one: RegisteredWebhook, name = 'checker') {
  const configuration = { resource: 'validatingwebhookconfigurations', name, webhooks: [one] } as const;
  return checkOtherWebhooks(healthyFacts({ configurations: readingOf([configuration]) }));
}

it.each([
  {
    what: 'Fail on nodes',
    differs: {},
    state: 'problem',
    evidence: /nodes \(CREATE, UPDATE\); failurePolicy Fail, 10 s/,
  },
  {
    what: 'Fail is the default',
    differs: { failurePolicy: undefined },
    state: 'problem',
    evidence: /failurePolicy Fail/,
  },
  {
    what: 'everything',
    differs: rule({ apiGroups: ['*'], apiVersions: ['*'], resources: ['*/*'], operations: ['*'] }),
    state: 'problem',
    evidence: /nodes \(CREATE, UPDATE\) and nodes\/status \(UPDATE\) and daemonsets/,
  },
  {
    what: 'nodes and their subresources',
    differs: rule({ resources: ['nodes/*'] }),
    state: 'problem',
    evidence: /nodes \(UPDATE\) and nodes\/status \(UPDATE\);/,
  },
  {
    what: 'Fail on nodes, by the provider of the cluster',
    differs: { name: 'aks-node-validating-webhook.azmk8s.io' },
    state: 'note',
    evidence: /the provider of the cluster manages it$/,
  },
  { what: 'Ignore', differs: { failurePolicy: 'Ignore' }, state: 'note', evidence: /failurePolicy Ignore/ },
  {
    what: 'narrowed by conditions',
    differs: { matchConditions: [{ name: 'a', expression: 'false' }] },
    state: 'note',
    evidence: /narrowed by matchConditions/,
  },
  {
    what: 'narrowed by labels',
    differs: { objectSelector: { matchLabels: { a: 'b' } } },
    state: 'note',
    evidence: /narrowed by objectSelector/,
  },
  {
    what: 'DaemonSets alone',
    differs: rule({ apiGroups: ['apps'], resources: ['daemonsets'] }),
    state: 'note',
    evidence: /for daemonsets \(UPDATE\)/,
  },
  {
    what: 'the status of nodes alone',
    differs: rule({ resources: ['nodes/status'] }),
    state: 'problem',
    evidence: /for nodes\/status \(UPDATE\);/,
  },
  {
    what: 'every status',
    differs: rule({ resources: ['*/status'] }),
    state: 'problem',
    evidence: /for nodes\/status /,
  },
  {
    what: 'another subresource',
    differs: rule({ resources: ['nodes/proxy', 'daemonsets/status'] }),
    state: 'ok',
    evidence: /no other webhook/,
  },
  { what: 'deletions alone', differs: rule({ operations: ['DELETE'] }), state: 'ok', evidence: /no other webhook/ },
  {
    what: 'what is in namespaces alone',
    differs: rule({ apiGroups: ['*'], resources: ['*'], scope: 'Namespaced' }),
    state: 'note',
    evidence: /for daemonsets/,
  },
  { what: 'another group', differs: rule({ apiGroups: ['metal3.io'] }), state: 'ok', evidence: /no other webhook/ },
  { what: 'no rules', differs: { rules: null }, state: 'ok', evidence: /no other webhook/ },
  {
    what: 'our own Service, by another name',
    differs: { clientConfig: { service: { namespace: 'taintkeeper', name: 'taintkeeper' } } },
    state: 'ok',
    evidence: /no other webhook/,
  },
] as const)('$what: $state', ({ differs, state, evidence }) => {
  const results = check(othersWebhook(differs as Partial<RegisteredWebhook>));
  expect(results).toEqual([expect.objectContaining({ state, evidence: expect.stringMatching(evidence) })]);
});

it.each([
  { operations: ['CREATE'], impact: 'no node registers' },
  { operations: ['UPDATE'], impact: 'no taint is restored' },
  { operations: ['CREATE', 'UPDATE'], impact: 'no node registers, and no taint is restored' },
  { operations: ['*'], resources: ['nodes/status'], impact: 'kubelets cannot report that nodes are Ready' },
  {
    operations: ['*'],
    resources: ['*/*'],
    impact: 'no node registers, and no taint is restored, and kubelets cannot report that nodes are Ready',
  },
])('called for $operations of $resources: while it does not answer, $impact', ({ impact, ...rules }) => {
  const [result] = check(othersWebhook(rule(rules)));
  expect(result?.evidence).toMatch(new RegExp(`\\. While it does not answer, ${impact}$`));
});

it('our own configuration is not of others', () => {
  expect(check(othersWebhook(), 'taintkeeper')).toMatchObject([{ state: 'ok' }]);
});

it('the remedy is a patch of that very webhook', () => {
  const [result] = check(othersWebhook());
  const [, patch = ''] =
    /^kubectl patch validatingwebhookconfiguration checker --type=json -p '(.*)'$/.exec(result?.remedy ?? '') ?? [];
  expect(JSON.parse(patch)).toEqual([
    { op: 'test', path: '/webhooks/0/name', value: 'check.example.com' },
    { op: 'replace', path: '/webhooks/0/failurePolicy', value: 'Ignore' },
  ]);
});

it.each(['kyverno-resource-validating-webhook-cfg', 'gatekeeper-validating-webhook-configuration'])(
  'names the setting of %s that lasts',
  (name) => {
    expect(check(othersWebhook(), name)[0]?.remedy).toMatch(
      /^for a lasting change \((Kyverno|Gatekeeper) overwrites its webhook configuration\): /,
    );
  },
);
