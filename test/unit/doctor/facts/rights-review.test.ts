import { readFileSync } from 'node:fs';
import { describe, expect, it } from 'vitest';
import { INSTALL, RIGHTS } from '../../../../scripts/chart.ts';
import type { ApiClient } from '../../../../src/cluster/client/api-client.ts';
import type { Access } from '../../../../src/cluster/rights/access-review.ts';
import { accessesOf } from '../../../../src/cluster/rights/access-review.ts';
import { OPTIONAL_RIGHT_NAMES, OPTIONAL_RIGHTS } from '../../../../src/cluster/rights/rights.ts';
import { checkOptionalRights } from '../../../../src/doctor/checks/optional-rights.ts';
import { checkRights } from '../../../../src/doctor/checks/rights.ts';
import { readingOf } from '../../../../src/doctor/facts/reading.ts';
import { neededRights, reviewRights } from '../../../../src/doctor/facts/rights-review.ts';
import { objectsOf } from '../../../e2e/kubernetes-objects.ts';
import { answer, clientFor, refusal, startFakeApi } from '../../cluster/client/fake-api.ts';
import { healthyFacts, INSTALLATION, policyObject, taintPolicy } from '../facts.ts';

interface Role {
  readonly kind: string;
  readonly metadata: { readonly namespace?: string };
  readonly rules: readonly {
    readonly apiGroups: readonly string[];
    readonly resources: readonly string[];
    readonly verbs: readonly string[];
    readonly resourceNames?: readonly string[];
  }[];
}

const line = (verb: string, group: string, resource: string, name = '*', namespace = '') =>
  `${verb} ${group}/${resource} ${name} ${namespace}`;

/** All that the roles of a manifest grant. */
function grantedBy(file: string): string[] {
  const roles = objectsOf(readFileSync(file, 'utf8')).filter(({ kind }) =>
    /^(Cluster)?Role$/.test(kind),
  ) as unknown as Role[];
  return roles.flatMap(({ rules, metadata }) =>
    rules.flatMap(({ apiGroups, resources, verbs, resourceNames = [undefined] }) =>
      apiGroups.flatMap((group) =>
        resources.flatMap((resource) =>
          resourceNames.flatMap((name) => verbs.map((verb) => line(verb, group, resource, name, metadata.namespace))),
        ),
      ),
    ),
  );
}

const lineOf = ({ verb, group, resource, name, namespace }: Access) => line(verb, group, resource, name, namespace);

it('asks for what the manifests grant, no more and no less', () => {
  expect(neededRights(INSTALLATION).map(lineOf).sort()).toEqual(grantedBy(INSTALL).sort());
});

it.each(OPTIONAL_RIGHT_NAMES)('asks for what manifests/rights grant: %s', (right) => {
  const rule = OPTIONAL_RIGHTS[right];
  expect(grantedBy(RIGHTS[rule.grant])).toEqual(expect.arrayContaining(accessesOf(rule).map(lineOf)));
});

it('manifests/rights grant no more than is asked for', () => {
  const asked = Object.values(OPTIONAL_RIGHTS).flatMap(accessesOf).map(lineOf);
  expect(Object.values(RIGHTS).flatMap(grantedBy).sort()).toEqual(asked.sort());
});

it('asks for nothing that an installation with certificates of its own and no default policies is not granted', () => {
  const { deployment } = INSTALLATION;
  const certificates = { kind: 'files', secret: 'from-cert-manager' } as const;
  const bare = {
    ...INSTALLATION,
    deployment: deployment && { ...deployment, certificates },
    defaultPolicies: undefined,
  };
  const needed = neededRights(bare);
  expect(needed.map(({ resource }) => resource)).not.toContain('secrets');
  expect(needed.map(({ resource }) => resource)).not.toContain('configmaps');
});

describe('the review', () => {
  const USER = 'system:serviceaccount:taintkeeper:taintkeeper';
  interface Asked {
    readonly spec: {
      readonly user?: string;
      readonly resourceAttributes?: { verb: string; resource: string; subresource?: string };
    };
  }

  /** An API server that allows everything but these; `kinds` are the reviews that it lets us make. */
  async function review(denied: readonly string[], kinds: readonly string[], me = USER) {
    const api = await startFakeApi(({ path, body }, response) => {
      if (path.endsWith('/selfsubjectreviews'))
        return answer(response, { status: { userInfo: { username: me } } }, 201);
      const kind = path.split('/').at(-1) ?? '';
      if (!kinds.includes(kind)) return answer(response, refusal(403, 'Forbidden', 'no'), 403);
      const { spec } = JSON.parse(body) as Asked;
      const { verb, resource, subresource } = spec.resourceAttributes ?? {};
      const asked = `${verb} ${[resource, subresource].filter(Boolean).join('/')}`;
      return answer(response, { status: { allowed: !denied.includes(asked) } }, 201);
    });
    const { client } = await clientFor(api.url);
    return { result: await reviewRights(client, INSTALLATION), received: api.received };
  }

  it('names the verbs that are missing', async () => {
    const { result, received } = await review(
      ['patch nodes', 'watch daemonsets', 'list daemonsets', 'watch pods', 'patch taintpolicies/status'],
      ['subjectaccessreviews'],
    );
    expect(result.missingNeeded.map(({ verb, resource }) => `${verb} ${resource}`)).toEqual([
      'patch taintpolicies/status',
      'patch nodes',
      'list daemonsets',
      'watch daemonsets',
    ]);
    expect(result.missingOptional).toEqual(['watchPods', 'listPods']);
    const bodies = received.map(({ body }) => (JSON.parse(body) as Asked).spec.user);
    expect(new Set(bodies)).toEqual(new Set([USER]));
    const optional = Object.values(OPTIONAL_RIGHTS).flatMap(accessesOf).length;
    expect(result.reviewed).toBe(received.length - 1 - optional);
  });

  it('asks about itself where it is the service account, and may not ask about others', async () => {
    const { result } = await review(['patch nodes'], ['selfsubjectaccessreviews']);
    expect(result.missingNeeded.map(({ resource }) => resource)).toEqual(['nodes']);
  });

  it('fails for another user who may not ask about the service account', async () => {
    await expect(review([], ['selfsubjectaccessreviews'], 'dev@example.com')).rejects.toThrow('403 Forbidden');
  });
});

describe('the check', () => {
  const lease = { resource: 'leases', name: 'taintkeeper', namespace: 'taintkeeper' };
  const missingNeeded: Access[] = [
    { verb: 'watch', group: '', resource: 'pods' },
    { verb: 'delete', group: '', resource: 'pods' },
    { verb: 'update', group: 'coordination.k8s.io', ...lease },
  ];
  const rights = readingOf({
    user: 'system:serviceaccount:taintkeeper:taintkeeper',
    reviewed: 50,
    missingNeeded,
    missingOptional: [],
  });

  it.each([
    { differs: {}, remedy: 'kubectl apply -f install.yaml' },
    { differs: { namespace: 'tk' }, remedy: 'kubectl apply -f MANIFESTS' },
    {
      differs: { helmRelease: 'keeper' },
      remedy: 'helm get manifest keeper --namespace taintkeeper | kubectl apply -f -',
    },
  ])('says what is missing, and how to fix it: $remedy', ({ differs, remedy }) => {
    const facts = healthyFacts({ rights, installation: { ...INSTALLATION, ...differs } });
    const evidence =
      'system:serviceaccount:taintkeeper:taintkeeper may not watch, delete pods; update leases.coordination.k8s.io taintkeeper in taintkeeper';
    expect(checkRights(facts)).toMatchObject({ state: 'problem', evidence, remedy });
  });

  it.each([
    {
      differs: {},
      remedy:
        'echo \'{"apiVersion":"v1","kind":"List","items":[' +
        '{"apiVersion":"rbac.authorization.k8s.io/v1",' +
        '"metadata":{"name":"taintkeeper-recover-pods","labels":{"app.kubernetes.io/name":"taintkeeper"}},"kind":"ClusterRole",' +
        '"rules":[{"apiGroups":[""],"resources":["pods"],"verbs":["list","watch"]},{"apiGroups":[""],"resources":["pods"],"verbs":["delete"]}]},' +
        '{"apiVersion":"rbac.authorization.k8s.io/v1",' +
        '"metadata":{"name":"taintkeeper-recover-pods","labels":{"app.kubernetes.io/name":"taintkeeper"}},"kind":"ClusterRoleBinding",' +
        '"roleRef":{"apiGroup":"rbac.authorization.k8s.io","kind":"ClusterRole","name":"taintkeeper-recover-pods"},' +
        '"subjects":[{"kind":"ServiceAccount","namespace":"taintkeeper","name":"taintkeeper"}]}]}\' | kubectl apply -f -',
    },
    {
      differs: { helmRelease: 'keeper' },
      remedy: 'helm upgrade keeper CHART --namespace taintkeeper --reset-then-reuse-values --set recoverPods=true',
    },
  ])('names the policy that needs a permission that was not granted: $remedy', ({ differs, remedy }) => {
    const daemonSets = { namespaces: ['*'] };
    const facts = healthyFacts({
      rights: readingOf({
        user: 'u',
        reviewed: 50,
        missingNeeded: [],
        missingOptional: ['deletePods', 'nativePolicies'],
      }),
      policies: readingOf([policyObject('RecoveryPolicy', 'reboots', { daemonSets }), taintPolicy('gpu', {})]),
      installation: { ...INSTALLATION, ...differs },
    });
    const evidence = expect.stringMatching(/^RecoveryPolicy reboots: a RecoveryPolicy needs permission to delete pods/);
    expect(checkOptionalRights(facts)).toMatchObject([{ state: 'problem', evidence, remedy }]);
    // It is reported, and changes nothing.
    const audited = { ...facts, installation: { ...facts.installation, audit: true } };
    expect(checkOptionalRights(audited)).toEqual([]);
  });
});

it('an answer about an optional right that does not come is one reading that failed, and does not end the program', async () => {
  const client = {
    async request(_method: string, _path: string, { body }: { body: { spec: { resourceAttributes?: object } } }) {
      const { group, verb } = (body.spec.resourceAttributes ?? {}) as { group?: string; verb?: string };
      if (group === 'karpenter.sh') throw new Error('no answer within 10000 ms');
      if (verb === 'watch') await new Promise((resolve) => setImmediate(resolve));
      return { status: { allowed: true } };
    },
  } as unknown as ApiClient;
  await expect(reviewRights(client, INSTALLATION)).rejects.toThrow('no answer within 10000 ms');
});
