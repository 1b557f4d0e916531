import { describe, expect, it } from 'vitest';
import { desiredWebhooks } from '../../../../src/controllers/webhooks/desired-webhooks.ts';
import { hasFields } from '../../../../src/kubernetes/desired-fields.ts';
import type { WebhookEntry } from '../../../../src/webhooks/webhook-entry.ts';

const OPTIONS = {
  service: { namespace: 'ns', name: 'svc', port: 8443 },
  bundle: 'PEM',
  timeoutSeconds: 2,
};
const ENTRY: WebhookEntry = {
  name: 'protect.taintkeeper.dev',
  phase: 'validate',
  resource: 'nodes',
  operations: ['UPDATE'],
  failurePolicy: 'Fail',
  matchConditions: [{ name: 'a', expression: 'true' }],
};

describe('the webhooks of a phase', () => {
  it('are the entries of that phase, in their order', () => {
    const entries: WebhookEntry[] = [
      ENTRY,
      { ...ENTRY, name: 'restore.taintkeeper.dev', phase: 'mutate' },
      { ...ENTRY, name: 'report.taintkeeper.dev' },
    ];
    expect(desiredWebhooks(entries, 'validate', OPTIONS).map(({ name }) => name)).toEqual([
      'protect.taintkeeper.dev',
      'report.taintkeeper.dev',
    ]);
  });

  it('say all that matters, so that nothing is left to defaults', () => {
    expect(desiredWebhooks([ENTRY], 'validate', OPTIONS)).toEqual([
      {
        name: 'protect.taintkeeper.dev',
        clientConfig: {
          service: { namespace: 'ns', name: 'svc', port: 8443, path: '/validate' },
          caBundle: Buffer.from('PEM').toString('base64'),
        },
        rules: [{ apiGroups: [''], apiVersions: ['v1'], resources: ['nodes'], operations: ['UPDATE'], scope: '*' }],
        namespaceSelector: {
          matchLabels: undefined,
          matchExpressions: [{ key: 'kubernetes.io/metadata.name', operator: 'NotIn', values: ['ns'] }],
        },
        objectSelector: { matchLabels: undefined, matchExpressions: undefined },
        matchPolicy: 'Equivalent',
        matchConditions: [{ name: 'a', expression: 'true' }],
        failurePolicy: 'Fail',
        sideEffects: 'NoneOnDryRun',
        admissionReviewVersions: ['v1'],
        timeoutSeconds: 2,
      },
    ]);
  });

  it.each([
    { phase: 'mutate', reinvocationPolicy: 'IfNeeded', expected: 'IfNeeded', why: 'asked for' },
    { phase: 'mutate', reinvocationPolicy: undefined, expected: 'Never', why: 'the default, spelled out' },
    { phase: 'validate', reinvocationPolicy: undefined, expected: undefined, why: 'unknown to validating webhooks' },
  ] as const)('have reinvocationPolicy $expected: $why', ({ phase, reinvocationPolicy, expected }) => {
    const entry: WebhookEntry = { ...ENTRY, phase, ...(reinvocationPolicy ? { reinvocationPolicy } : {}) };
    expect(desiredWebhooks([entry], phase, OPTIONS)[0]?.reinvocationPolicy).toBe(expected);
  });

  it('have the selectors of the entry, and never ask about their own namespace', () => {
    const [webhook] = desiredWebhooks(
      [
        {
          ...ENTRY,
          objectSelector: [{ key: 'pool', operator: 'In', values: ['gpu'] }],
          namespaceSelector: [{ key: 'kubernetes.io/metadata.name', operator: 'In', values: ['kube-system'] }],
        },
      ],
      'validate',
      OPTIONS,
    );
    expect(webhook).toMatchObject({
      objectSelector: { matchExpressions: [{ key: 'pool', operator: 'In', values: ['gpu'] }] },
      namespaceSelector: {
        matchExpressions: [
          { key: 'kubernetes.io/metadata.name', operator: 'In', values: ['kube-system'] },
          { key: 'kubernetes.io/metadata.name', operator: 'NotIn', values: ['ns'] },
        ],
      },
    });
  });

  it.each<[field: string, value: object]>([
    ['objectSelector', { matchLabels: { never: 'there' } }],
    ['objectSelector', { matchExpressions: [{ key: 'never', operator: 'Exists' }] }],
    ['namespaceSelector', { matchLabels: { never: 'there' } }],
    ['matchConditions', [{ name: 'never', expression: 'false' }]],
  ])('are not covered by webhooks that a user has narrowed by %s %j', (field, value) => {
    const desired = desiredWebhooks([{ ...ENTRY, matchConditions: [] }], 'validate', OPTIONS);
    const [registered] = JSON.parse(JSON.stringify(desired)) as [Record<string, object>];
    expect(hasFields([registered], desired)).toBe(true);
    const narrowed = { ...registered, [field]: Array.isArray(value) ? value : { ...registered[field], ...value } };
    expect(hasFields([narrowed], desired)).toBe(false);
  });

  it('of DaemonSets are in the group apps', () => {
    const [webhook] = desiredWebhooks([{ ...ENTRY, resource: 'daemonsets' }], 'validate', OPTIONS);
    expect(webhook?.rules).toMatchObject([{ apiGroups: ['apps'], resources: ['daemonsets'] }]);
  });

  it('leave out the caBundle if the leader does not know the CA', () => {
    const [webhook] = desiredWebhooks([ENTRY], 'validate', { ...OPTIONS, bundle: undefined });
    expect(webhook?.clientConfig).not.toHaveProperty('caBundle');
  });
});

describe('what is there covers what is desired', () => {
  it.each<{ why: string; actual: unknown; desired: unknown; expected: boolean }>([
    { why: 'the same', actual: { a: 1, b: [{ c: 'x' }] }, desired: { a: 1, b: [{ c: 'x' }] }, expected: true },
    { why: 'a field that a newer API server added', actual: { a: 1, new: 2 }, desired: { a: 1 }, expected: true },
    { why: 'such a field in an item', actual: [{ a: 1, new: 2 }], desired: [{ a: 1 }], expected: true },
    { why: 'another value', actual: { a: 2 }, desired: { a: 1 }, expected: false },
    { why: 'a field less', actual: {}, desired: { a: 1 }, expected: false },
    { why: 'an item more', actual: [1, 2], desired: [1], expected: false },
    { why: 'an item less', actual: [], desired: [1], expected: false },
    { why: 'items in another order', actual: [2, 1], desired: [1, 2], expected: false },
    { why: 'a map in place of a list', actual: {}, desired: [], expected: false },
    { why: 'null in place of a map', actual: null, desired: {}, expected: false },
    { why: 'nothing at all', actual: undefined, desired: { a: 1 }, expected: false },
    { why: 'an inherited property', actual: {}, desired: { toString: 'x' }, expected: false },
  ])('$why: $expected', ({ actual, desired, expected }) => {
    expect(hasFields(actual, desired)).toBe(expected);
  });
});
