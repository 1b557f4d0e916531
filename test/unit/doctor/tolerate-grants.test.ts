import { describe, expect, it } from 'vitest';
import type { ClusterGrants } from '../../../src/cluster/tolerate-grants.ts';
import { checkTolerateGrants } from '../../../src/doctor/checks/tolerate-grants.ts';
import { gatherCluster } from '../../../src/doctor/cluster-facts.ts';
import { known } from '../../../src/doctor/reading.ts';
import { answer, clientFor, refusal, startFakeApi } from '../cluster/client/fake-api.ts';
import { healthyFacts, INSTALLATION, policyObject, unseen } from './facts.ts';

const SPEC = { mode: 'Audit', taints: [{ key: 'gpu', effect: 'NoSchedule' }] };
const POLICIES = [policyObject('TolerationRestriction', 'gpu', SPEC)];
const ROLE = {
  name: 'gpu',
  rules: [{ apiGroups: ['taintkeeper.dev'], resources: ['taints'], resourceNames: ['gpu'], verbs: ['tolerate'] }],
};
type Subject = ClusterGrants['bindings'][number]['subjects'][number];

function check(subjects: readonly Subject[]) {
  const bindings = subjects.map((subject, place) => ({ name: `b${place}`, role: 'gpu', subjects: [subject] }));
  return checkTolerateGrants(healthyFacts({ policies: known(POLICIES), grants: known({ roles: [ROLE], bindings }) }));
}

const group = (name: string): Subject => ({ kind: 'Group', name });

describe('bindings of the verb tolerate', () => {
  it('are well where each names the service accounts that need it', () => {
    expect(check([{ kind: 'ServiceAccount', namespace: 'team', name: 'training' }])).toEqual([
      { state: 'ok', evidence: 'no binding lets a whole group or a controller tolerate gpu' },
    ]);
  });

  it('are well where no policy asks for them', () => {
    expect(checkTolerateGrants(healthyFacts({ grants: known(undefined) }))).toEqual([
      { state: 'ok', evidence: 'there are no TolerationRestrictions' },
    ]);
  });

  it.each([
    {
      subject: group('system:authenticated'),
      evidence: 'ClusterRoleBinding b0 lets Group system:authenticated tolerate gpu: every pod may',
      remedy: 'bind only the service accounts that need it: kubectl edit clusterrolebinding b0',
    },
    {
      subject: group('system:serviceaccounts:ci'),
      evidence:
        'ClusterRoleBinding b0 lets Group system:serviceaccounts:ci tolerate gpu: every pod in namespace ci may',
      remedy: 'bind only the service accounts that need it: kubectl edit clusterrolebinding b0',
    },
    {
      subject: { kind: 'ServiceAccount', namespace: 'kube-system', name: 'replicaset-controller' },
      evidence:
        'ClusterRoleBinding b0 lets ServiceAccount kube-system/replicaset-controller tolerate gpu: this admits no pod, because the right of a controller does not count',
      remedy: 'bind the service accounts of the pods instead: kubectl edit clusterrolebinding b0',
    },
  ])('are noted where they reach $subject.kind $subject.name', ({ subject, evidence, remedy }) => {
    expect(check([subject])).toEqual([{ state: 'note', evidence, remedy }]);
  });

  it('are counted beyond the first five', () => {
    const found = check(Array.from({ length: 7 }, (_, place) => group(`system:serviceaccounts:n${place}`)));
    expect(found).toHaveLength(6);
    expect(found.at(-1)).toEqual({
      state: 'note',
      evidence: '2 more grants to a whole group or a controller',
      remedy: 'taintkeeper coverage tolerations',
    });
  });

  it('are not judged if the user may not list them', () => {
    const facts = healthyFacts({ policies: known(POLICIES), grants: unseen('you may not list clusterroles') });
    expect(checkTolerateGrants(facts)).toEqual([{ state: 'skipped', evidence: 'you may not list clusterroles' }]);
  });
});

describe('what RBAC grants in the cluster', () => {
  /** @returns the reading, and whether RBAC was asked */
  async function gather(restrictions: readonly object[]) {
    let asked = false;
    let renewals = 0;
    const api = await startFakeApi(({ path }, response) => {
      const page = (items: unknown[]) => answer(response, { metadata: { resourceVersion: '1' }, items });
      if (path.startsWith('/apis/rbac.authorization.k8s.io/v1/clusterrole')) asked = true;
      if (path.endsWith('/clusterroles')) return page([{ metadata: { name: 'gpu' }, rules: ROLE.rules }]);
      if (path.endsWith('/clusterrolebindings')) return page([{ metadata: { name: 'b' }, roleRef: { name: 'gpu' } }]);
      if (path.endsWith('/tolerationrestrictions')) {
        const status = { observedGeneration: 1 };
        return page(restrictions.map((spec) => ({ metadata: { name: 'p', uid: 'p', generation: 1 }, spec, status })));
      }
      if (path.endsWith('policies')) return page([]);
      if (path.endsWith('/leases/taintkeeper')) {
        return answer(response, { metadata: { resourceVersion: `${renewals++}` }, spec: { holderIdentity: 'tk-0' } });
      }
      return answer(response, refusal(403, 'Forbidden', 'no'), 403);
    });
    const { grants } = await gatherCluster((await clientFor(api.url)).client, INSTALLATION);
    return { grants, asked };
  }

  it('is read where there is a TolerationRestriction', async () => {
    const roles = [ROLE];
    const bindings = [{ name: 'b', role: 'gpu', subjects: [] }];
    expect((await gather([SPEC])).grants).toEqual(known({ roles, bindings }));
  });

  it('is not read where there is none', async () => {
    expect(await gather([])).toEqual({ grants: known(undefined), asked: false });
  });
});
