import { join } from 'node:path';
import { expect, it } from 'vitest';
import { desiredWebhooks } from '../../../../src/controllers/webhooks/desired-webhooks.ts';
import { readBuiltinPolicies } from '../../../../src/files/builtin-policies.ts';
import { parsePolicies, readPolicyFiles } from '../../../../src/files/policy-files.ts';
import type { Policy } from '../../../../src/policy/policy.ts';
import { webhookEntries } from '../../../../src/webhooks/webhook-entries.ts';

// What Kubernetes asks of every webhook (test/good-practices.md), of all that the project's own policies lead to.

interface Rule {
  readonly resources: readonly string[];
  readonly operations: readonly string[];
}

interface Registered {
  readonly name: string;
  readonly rules: readonly Rule[];
  readonly failurePolicy: string;
  readonly reinvocationPolicy?: string;
  readonly matchConditions?: readonly object[];
  readonly namespaceSelector: { readonly matchExpressions?: readonly Requirement[] };
}

interface Requirement {
  readonly operator: string;
  readonly values?: readonly string[];
}

const ROOT = join(import.meta.dirname, '..', '..', '..', '..');
const BUILTIN = parsePolicies(await readBuiltinPolicies());
const EXAMPLES = parsePolicies(
  await readPolicyFiles(['examples/policies', 'examples/audit/policy.yaml'].map((file) => join(ROOT, file))),
);

function registered(phase: 'mutate' | 'validate', policies: readonly Policy[]): Registered[] {
  const service = { namespace: 'taintkeeper', name: 'taintkeeper', port: 443 };
  const webhooks = desiredWebhooks(webhookEntries(policies), phase, { service, bundle: 'PEM', timeoutSeconds: 2 });
  return webhooks as unknown as Registered[];
}

const MUTATING = registered('mutate', [...BUILTIN, ...EXAMPLES]);
const ALL = [...MUTATING, ...registered('validate', [...BUILTIN, ...EXAMPLES])];

it('no webhook is about anything but nodes and DaemonSets: no pods, Leases, Events, reviews, webhooks, nor any status', () => {
  expect(ALL).toHaveLength(7);
  const rules = ALL.flatMap((webhook) => webhook.rules);
  expect(new Set(rules.flatMap(({ resources }) => resources))).toEqual(new Set(['nodes', 'daemonsets']));
  expect(new Set(rules.flatMap(({ operations }) => operations))).toEqual(new Set(['CREATE', 'UPDATE']));
});

it('every webhook has a condition: the API server never asks about all nodes or all DaemonSets', () => {
  expect(ALL.filter(({ matchConditions = [] }) => matchConditions.length === 0)).toEqual([]);
});

it('every mutating webhook fails open, and so does every webhook for the creation of nodes or DaemonSets', () => {
  const creating = ALL.filter(({ rules }) => rules.some(({ operations }) => operations.includes('CREATE')));
  expect(creating).toHaveLength(4);
  expect([...MUTATING, ...creating].filter(({ failurePolicy }) => failurePolicy !== 'Ignore')).toEqual([]);
});

it('updates of nodes are mutated again after other webhooks; what is created, and DaemonSets, are not', () => {
  expect(MUTATING.map(({ name, reinvocationPolicy }) => `${name}: ${reinvocationPolicy}`).sort()).toEqual([
    'register.taintkeeper.dev: Never',
    'restore.taintkeeper.dev: IfNeeded',
    'tolerate.taintkeeper.dev: Never',
  ]);
});

it('DaemonSets of kube-system are mutated on purpose, and never blocked', () => {
  const tolerate = registered('mutate', BUILTIN).find(({ name }) => name === 'tolerate.taintkeeper.dev');
  expect(tolerate?.failurePolicy).toBe('Ignore');
  const requirements = tolerate?.namespaceSelector.matchExpressions ?? [];
  expect(requirements.map(({ operator }) => operator)).toEqual(['In', 'NotIn']);
  expect(requirements.map(({ values = [] }) => values.includes('kube-system'))).toEqual([true, false]);
});
