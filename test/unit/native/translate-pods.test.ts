import { describe, expect, it } from 'vitest';
import { exportPolicies } from '../../../src/native/export-policies.ts';
import { translate } from '../../../src/native/translate.ts';
import { parsePolicy, type TolerationRestriction } from '../../../src/policy/policy.ts';
import { MAX_RESTRICTED_TAINTS, type TolerationRestrictionSpec } from '../../../src/policy/toleration-restriction.ts';
import { manifest } from '../policy/policies.ts';

const GPU = { key: 'gpu' };

function policy(spec: Partial<TolerationRestrictionSpec> = {}): TolerationRestriction {
  const parsed = parsePolicy(manifest('TolerationRestriction', 'p', { mode: 'Audit', taints: [GPU], ...spec }));
  if (!parsed.ok || parsed.policy.kind !== 'TolerationRestriction') throw new Error(JSON.stringify(parsed));
  return parsed.policy;
}

const translated = (spec?: Partial<TolerationRestrictionSpec>) =>
  translate(policy(spec), { among: [], mutates: true, purpose: 'Backstop' });

describe('a TolerationRestriction as native policies', () => {
  it.each<{ mode: 'Audit' | 'Deny'; actions: string[]; failurePolicy: string }>([
    { mode: 'Audit', actions: ['Audit', 'Warn'], failurePolicy: 'Ignore' },
    { mode: 'Deny', actions: ['Deny'], failurePolicy: 'Fail' },
  ])(
    'in mode $mode pods lead to $actions, and what is made of them to a warning',
    ({ mode, actions, failurePolicy }) => {
      const { policies, limits } = translated({ mode });
      expect(limits).toEqual([]);
      expect(policies).toMatchObject([
        { name: 'p.authorize-pods.taintkeeper.dev', validationActions: actions, spec: { failurePolicy } },
        { name: 'p.warn-workloads.taintkeeper.dev', validationActions: ['Warn'], spec: { failurePolicy: 'Ignore' } },
      ]);
    },
  );

  it('asks the service account of a pod and the person who creates it, but of a template the service account alone', () => {
    const [pods, templates] = translated().policies;
    const expressions = [pods, templates].map((one) =>
      one?.kind === 'ValidatingAdmissionPolicy' ? one.spec.validations.map(({ expression }) => expression).join() : '',
    );
    expect(expressions.map((text) => text.match(/\.check\("tolerate"\)\.allowed\(\)/g)?.length)).toEqual([2, 1]);
    for (const text of expressions) {
      expect(text).toContain('authorizer.serviceAccount(request.namespace, variables.serviceAccount)');
    }
    expect(expressions[1]).not.toContain('authorizer.group');
  });

  it.each([
    { except: ['a', 'b'], named: ['a', 'b'], condition: false },
    { except: ['a', 'team-*'], named: ['a'], condition: true },
    { except: ['*'], named: undefined, condition: true },
    { except: [], named: undefined, condition: false },
  ])(
    'is not evaluated in namespaces that are named, and asks for patterns: $except',
    ({ except, named, condition }) => {
      for (const { spec } of translated({ exceptNamespaces: except }).policies) {
        expect(spec.matchConstraints.namespaceSelector?.matchExpressions?.[0]?.values).toEqual(named);
        expect(spec.matchConditions.some(({ name }) => name === 'is-not-excepted')).toBe(condition);
      }
    },
  );

  it('is exported', () => {
    const exported = exportPolicies([policy()], { mutating: 'v1' });
    if (!exported.ok) throw new Error(exported.refusals.join());
    expect(
      exported.exported.flatMap(({ manifests }) => manifests.map(({ kind, metadata }) => `${kind} ${metadata.name}`)),
    ).toEqual([
      'ValidatingAdmissionPolicy p.authorize-pods.taintkeeper.dev',
      'ValidatingAdmissionPolicyBinding p.authorize-pods.taintkeeper.dev',
      'ValidatingAdmissionPolicy p.warn-workloads.taintkeeper.dev',
      'ValidatingAdmissionPolicyBinding p.warn-workloads.taintkeeper.dev',
    ]);
  });

  it('stays within the budget of the API server with as many keys as a policy may have', () => {
    const keys = (count: number) => Array.from({ length: count }, (_, index) => ({ ...GPU, key: `k${index}` }));
    const { refusal, limits } = translated({ taints: keys(MAX_RESTRICTED_TAINTS) });
    expect(refusal).toBeUndefined();
    expect(limits.map(({ message }) => message)).toEqual([
      expect.stringMatching(/a pod with more than \d+ tolerations/),
    ]);
    expect(() => policy({ taints: keys(MAX_RESTRICTED_TAINTS + 1) })).toThrow('must not have more than 12 items');
  });
});
