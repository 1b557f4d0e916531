import { readFileSync } from 'node:fs';
import { describe, expect, it } from 'vitest';
import { INSTALL } from '../../../scripts/chart.ts';
import { checkRights } from '../../../src/doctor/configuration-checks/rights.ts';
import type { Right } from '../../../src/doctor/configuration-facts.ts';
import { neededRights } from '../../../src/doctor/needed-rights.ts';
import { reviewRights } from '../../../src/doctor/review-rights.ts';
import { objectsOf } from '../../e2e/kubernetes-objects.ts';
import { answer, clientFor, refusal, startFakeApi } from '../cluster/client/fake-api.ts';
import { healthyFacts, INSTALLATION, seen } from './configuration-facts.ts';

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

it('asks for what the manifests grant, no more and no less', () => {
  const roles = objectsOf(readFileSync(INSTALL, 'utf8')).filter(({ kind }) =>
    /^(Cluster)?Role$/.test(kind),
  ) as unknown as Role[];
  const granted = roles.flatMap(({ rules, metadata }) =>
    rules.flatMap(({ apiGroups, resources, verbs, resourceNames = [undefined] }) =>
      apiGroups.flatMap((group) =>
        resources.flatMap((resource) =>
          resourceNames.flatMap((name) => verbs.map((verb) => line(verb, group, resource, name, metadata.namespace))),
        ),
      ),
    ),
  );
  const needed = neededRights(INSTALLATION).flatMap(({ group, resource, name, namespace, verbs }) =>
    verbs.map((verb) => line(verb, group, resource, name, namespace)),
  );
  expect(needed.sort()).toEqual(granted.sort());
});

it('asks for nothing that an installation with certificates of its own, no default policies and no native ones, is not granted', () => {
  const bare = { ...INSTALLATION, secret: undefined, defaultPolicies: undefined, nativePolicies: false };
  const resources = neededRights(bare).map(({ resource }) => resource);
  expect(resources).not.toContain('secrets');
  expect(resources).not.toContain('configmaps');
  expect(resources).not.toContain('validatingadmissionpolicies');
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
      ['patch nodes', 'watch pods', 'delete pods', 'patch taintpolicies/status'],
      ['subjectaccessreviews'],
    );
    expect(result.lacking.map(({ resource, verbs }) => [resource, verbs])).toEqual([
      ['taintpolicies/status', ['patch']],
      ['nodes', ['patch']],
      ['pods', ['watch', 'delete']],
    ]);
    const bodies = received.map(({ body }) => (JSON.parse(body) as Asked).spec.user);
    expect(new Set(bodies)).toEqual(new Set([USER]));
    expect(result.asked).toBe(received.length - 1);
  });

  it('asks about itself where it is the service account, and may not ask about others', async () => {
    const { result } = await review(['patch nodes'], ['selfsubjectaccessreviews']);
    expect(result.lacking.map(({ resource }) => resource)).toEqual(['nodes']);
  });

  it('is refused to somebody else', async () => {
    await expect(review([], ['selfsubjectaccessreviews'], 'dev@example.com')).rejects.toThrow('403 Forbidden');
  });
});

describe('the check', () => {
  const lacking: Right[] = [
    { group: '', resource: 'pods', verbs: ['watch', 'delete'] },
    {
      group: 'coordination.k8s.io',
      resource: 'leases',
      name: 'taintkeeper',
      namespace: 'taintkeeper',
      verbs: ['update'],
    },
  ];
  const rights = seen({ user: 'system:serviceaccount:taintkeeper:taintkeeper', asked: 50, lacking });

  it.each([
    { differs: {}, remedy: 'kubectl apply -f manifests/install.yaml' },
    { differs: { namespace: 'tk' }, remedy: 'kubectl apply -f what it was installed from' },
    {
      differs: { helmRelease: 'keeper' },
      remedy: 'helm get manifest keeper --namespace taintkeeper | kubectl apply -f -',
    },
  ])('says what is missing, and how to mend it: $remedy', ({ differs, remedy }) => {
    const facts = healthyFacts({ rights, installation: { ...INSTALLATION, ...differs } });
    const evidence =
      'system:serviceaccount:taintkeeper:taintkeeper may not watch, delete pods; update leases.coordination.k8s.io taintkeeper in taintkeeper';
    expect(checkRights(facts)).toMatchObject([{ state: 'trouble', evidence, remedy }]);
  });
});
