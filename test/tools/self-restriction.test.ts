import { beforeAll, describe, expect, it } from 'vitest';
import { RIGHTS, renderChart } from '../../scripts/chart.ts';
import { obstacleToHelm } from '../control-plane/helm.ts';
import { type KubernetesObject, objectsOf } from '../e2e/kubernetes-objects.ts';
import { skipFor } from '../skip-for.ts';

/** What RBAC grants, as a request that admission sees. */
interface Write {
  readonly group: string;
  /** With its subresource, such as `pods/eviction`. */
  readonly resource: string;
  readonly operation: 'CREATE' | 'UPDATE' | 'DELETE';
  /** Granted in the whole cluster, not only in taintkeeper's namespace. */
  readonly everywhere: boolean;
}

interface RoleRule {
  readonly apiGroups: readonly string[];
  readonly resources: readonly string[];
  readonly verbs: readonly string[];
}

const OPERATIONS: Readonly<Record<string, readonly Write['operation'][]>> = {
  create: ['CREATE'],
  update: ['UPDATE'],
  patch: ['UPDATE'],
  delete: ['DELETE'],
  deletecollection: ['DELETE'],
  get: [],
  list: [],
  watch: [],
};

function writesIn(objects: readonly KubernetesObject[]): Write[] {
  return objects.flatMap(({ kind, rules }) => {
    if (kind !== 'Role' && kind !== 'ClusterRole') return [];
    return (rules as RoleRule[]).flatMap(({ apiGroups, resources, verbs }) => {
      const operations = verbs.flatMap((verb) => {
        const found = OPERATIONS[verb];
        if (found === undefined) throw new Error(`the chart grants the verb ${verb}`);
        return found;
      });
      return apiGroups.flatMap((group) =>
        resources.flatMap((resource) =>
          [...new Set(operations)].map((operation) => ({
            group,
            resource,
            operation,
            everywhere: kind === 'ClusterRole',
          })),
        ),
      );
    });
  });
}

interface AdmissionPolicy {
  readonly failurePolicy: string;
  readonly matchConditions: readonly { readonly expression: string }[];
  readonly matchConstraints: {
    /** Empty for all namespaces. */
    readonly namespaceSelector: object;
    readonly resourceRules: readonly {
      readonly apiGroups: readonly string[];
      readonly resources: readonly string[];
      readonly operations: readonly string[];
    }[];
  };
}

/** The policies of `selfRestriction` that a binding puts in force. */
function policiesIn(objects: readonly KubernetesObject[]): AdmissionPolicy[] {
  const ofKind = (kind: string) => objects.filter((one) => one.kind === kind);
  const bound = ofKind('ValidatingAdmissionPolicyBinding').map(
    ({ spec }) => spec as { readonly policyName: string; readonly validationActions: readonly string[] },
  );
  return ofKind('ValidatingAdmissionPolicy').flatMap(({ metadata, spec }) => {
    const policy = spec as AdmissionPolicy;
    const isBound = bound.some(
      ({ policyName, validationActions }) => policyName === metadata.name && validationActions.includes('Deny'),
    );
    const isOurs = policy.matchConditions.some(({ expression }) => expression.includes('taintkeeper:taintkeeper"'));
    return isBound && isOurs && policy.failurePolicy === 'Fail' ? [policy] : [];
  });
}

const isRestricted = ({ group, resource, operation, everywhere }: Write, policies: readonly AdmissionPolicy[]) =>
  policies.some(
    ({ matchConstraints: { namespaceSelector, resourceRules } }) =>
      !(everywhere && Object.keys(namespaceSelector).length > 0) &&
      resourceRules.some(
        ({ apiGroups, resources, operations }) =>
          apiGroups.includes(group) && resources.includes(resource) && operations.includes(operation),
      ),
  );

const titleOf = ({ group, resource, operation }: Write) =>
  `${operation} ${[resource, group].filter(Boolean).join('.')}`;

/** Writes for which no rule is possible or needed. docs/reference/self-restriction.md names each. */
const WITHOUT_RULE: readonly { readonly writes: readonly string[]; readonly why: string }[] = [
  {
    writes: ['mutating', 'validating'].flatMap((kind) =>
      ['policies', 'policybindings'].flatMap((what) =>
        ['CREATE', 'UPDATE', 'DELETE'].map(
          (operation) => `${operation} ${kind}admission${what}.admissionregistration.k8s.io`,
        ),
      ),
    ),
    why: 'the API server evaluates no admission policy on admission policies',
  },
  {
    writes: ['taintpolicies', 'tolerationpolicies', 'tolerationrestrictions', 'recoverypolicies'].map(
      (resource) => `UPDATE ${resource}/status.taintkeeper.dev`,
    ),
    why: 'by status, no spec can be changed',
  },
  {
    writes: ['CREATE pods/eviction'],
    why: 'RBAC limits it to its own namespace, and an eviction does not say what the pod is',
  },
];

describe('selfRestriction', skipFor(obstacleToHelm()), () => {
  let writes: readonly Write[];
  let policies: readonly AdmissionPolicy[];

  beforeAll(async () => {
    const values = [...Object.keys(RIGHTS), 'selfRestriction'].map((value) => `${value}=true`).join(',');
    const objects = objectsOf(await renderChart(['--set', values]));
    writes = writesIn(objects);
    policies = policiesIn(objects);
  });

  it('has a rule for every write that the chart grants, but for those that are listed with a reason', () => {
    const unrestricted = writes.filter((write) => !isRestricted(write, policies)).map(titleOf);
    expect([...new Set(unrestricted)].sort()).toEqual(WITHOUT_RULE.flatMap((one) => one.writes).sort());
  });

  it.each<Write>([
    { group: '', resource: 'nodes', operation: 'DELETE', everywhere: true },
    { group: '', resource: 'nodes/status', operation: 'UPDATE', everywhere: true },
    { group: '', resource: 'secrets', operation: 'UPDATE', everywhere: true },
    { group: 'coordination.k8s.io', resource: 'leases', operation: 'DELETE', everywhere: false },
  ])('would miss a new right: $operation $resource, everywhere: $everywhere', (write) => {
    expect(isRestricted(write, policies)).toBe(false);
  });

  it('counts a rule for its own namespace only where the right is granted there', () => {
    const secrets: Write = { group: '', resource: 'secrets', operation: 'CREATE', everywhere: false };
    expect(isRestricted(secrets, policies)).toBe(true);
    expect(isRestricted({ ...secrets, everywhere: true }, policies)).toBe(false);
  });
});
