import { beforeAll, expect, it } from 'vitest';
import { type GrantingValue, INSTALL, NAMESPACE, RIGHTS } from '../../scripts/chart.ts';
import { ownUid } from '../../src/cluster/rights/access-review.ts';
import { JSON_PATCH } from '../control-plane/content-types.ts';
import { describeWithControlPlane } from '../control-plane/describe-with-control-plane.ts';
import { admin, serviceAccount } from '../control-plane/users.ts';
import { clientFor } from '../unit/cluster/client/fake-api.ts';

const RBAC_TIMEOUT_MS = 10_000;
const { name: user, groups } = serviceAccount(NAMESPACE, 'taintkeeper');

/** What is asked for: `group/resource/subresource name`, where `*` is any name. Our own namespace where the resource has one. */
interface Right {
  readonly what: string;
  readonly group?: string;
  readonly resource: string;
  readonly subresource?: string;
  readonly name?: string;
  /** `''` for what is cluster-scoped. */
  readonly namespace: string;
  readonly may: readonly string[];
  readonly mayNot: readonly string[];
}

const OWN = 'taintkeeper';
const POLICIES = 'taintkeeper.dev';
const ADMISSION = 'admissionregistration.k8s.io';
const NATIVE = ['mutating', 'validating'].flatMap((kind) => [
  `${kind}admissionpolicies`,
  `${kind}admissionpolicybindings`,
]);
const READ = ['get', 'list', 'watch'];
const WRITE = ['create', 'update', 'patch', 'delete', 'deletecollection'];
const without = (...verbs: string[]) => WRITE.filter((verb) => !verbs.includes(verb));

const RIGHTS_BY_DEFAULT: readonly Right[] = [
  ...['taintpolicies', 'tolerationpolicies', 'tolerationrestrictions', 'recoverypolicies'].flatMap((resource) => [
    {
      what: 'policies, and creating the default ones',
      group: POLICIES,
      resource,
      namespace: '',
      may: [...READ, 'create'],
      mayNot: without('create'),
    },
    {
      what: "policies' status",
      group: POLICIES,
      resource,
      subresource: 'status',
      namespace: '',
      may: ['patch'],
      mayNot: ['create', 'update', 'delete'],
    },
  ]),
  ...['mutatingwebhookconfigurations', 'validatingwebhookconfigurations'].flatMap((resource) => [
    {
      what: 'its own webhook configuration',
      group: ADMISSION,
      resource,
      name: OWN,
      namespace: '',
      may: [...READ, 'create', 'update', 'delete'],
      mayNot: ['patch'],
    },
    {
      what: "others' webhook configurations",
      group: ADMISSION,
      resource,
      name: 'other',
      namespace: '',
      may: [],
      mayNot: [...READ, ...without('create')],
    },
    {
      what: 'all webhook configurations',
      group: ADMISSION,
      resource,
      namespace: '',
      may: [],
      mayNot: [...READ, 'deletecollection'],
    },
  ]),
  ...NATIVE.map((resource) => ({
    what: 'native policies: to see which there are',
    group: ADMISSION,
    resource,
    namespace: '',
    may: ['list'],
    mayNot: ['get', ...WRITE],
  })),
  { what: 'nodes', resource: 'nodes', namespace: '', may: [...READ, 'patch'], mayNot: without('patch') },
  {
    what: "nodes' status",
    resource: 'nodes',
    subresource: 'status',
    namespace: '',
    may: [],
    mayNot: ['update', 'patch'],
  },
  {
    what: 'DaemonSets everywhere',
    group: 'apps',
    resource: 'daemonsets',
    namespace: '',
    may: READ,
    mayNot: WRITE,
  },
  {
    what: 'Events of the older kind',
    resource: 'events',
    namespace: 'kube-system',
    may: [],
    mayNot: [...READ, 'create', 'patch', 'delete'],
  },
  {
    what: 'Events everywhere',
    group: 'events.k8s.io',
    resource: 'events',
    namespace: 'default',
    may: ['create', 'patch'],
    mayNot: [...READ, 'delete'],
  },
  {
    what: 'its certificates',
    resource: 'secrets',
    name: 'taintkeeper-certs',
    namespace: NAMESPACE,
    may: [...READ, 'create', 'patch'],
    mayNot: ['update', 'delete'],
  },
  {
    what: 'other Secrets beside it',
    resource: 'secrets',
    name: 'other',
    namespace: NAMESPACE,
    may: [],
    mayNot: [...READ, ...without('create')],
  },
  {
    what: 'all Secrets beside it',
    resource: 'secrets',
    namespace: NAMESPACE,
    may: [],
    mayNot: [...READ, 'deletecollection'],
  },
  {
    what: 'Secrets elsewhere',
    resource: 'secrets',
    name: 'taintkeeper-certs',
    namespace: 'kube-system',
    may: [],
    mayNot: [...READ, ...WRITE],
  },
  {
    what: 'its Lease',
    group: 'coordination.k8s.io',
    resource: 'leases',
    name: OWN,
    namespace: NAMESPACE,
    may: ['get', 'create', 'update'],
    mayNot: ['list', 'watch', 'patch', 'delete'],
  },
  {
    what: "nodes' Leases",
    group: 'coordination.k8s.io',
    resource: 'leases',
    name: 'n1',
    namespace: 'kube-node-lease',
    may: [],
    mayNot: [...READ, ...WRITE],
  },
  { what: 'its Service', resource: 'services', name: OWN, namespace: NAMESPACE, may: ['get'], mayNot: WRITE },
  {
    what: 'the pods of its namespace',
    resource: 'pods',
    namespace: NAMESPACE,
    may: ['list'],
    mayNot: ['get', 'watch', ...WRITE],
  },
  {
    what: 'to evict one of them',
    resource: 'pods',
    subresource: 'eviction',
    namespace: NAMESPACE,
    may: ['create'],
    mayNot: [],
  },
  {
    what: 'the endpoints of its Service',
    group: 'discovery.k8s.io',
    resource: 'endpointslices',
    namespace: NAMESPACE,
    may: ['list'],
    mayNot: ['get', 'watch', ...WRITE],
  },
  { what: 'its namespace', resource: 'namespaces', name: NAMESPACE, namespace: NAMESPACE, may: ['get'], mayNot: WRITE },
  {
    what: 'other namespaces',
    resource: 'namespaces',
    name: 'kube-system',
    namespace: 'kube-system',
    may: [],
    mayNot: [...READ, ...WRITE],
  },
  {
    what: 'other Services',
    resource: 'services',
    name: 'kubernetes',
    namespace: 'default',
    may: [],
    mayNot: [...READ, ...WRITE],
  },
  {
    what: 'the default policies',
    resource: 'configmaps',
    name: 'taintkeeper-default-policies',
    namespace: NAMESPACE,
    may: ['get', 'patch'],
    mayNot: ['list', ...without('patch')],
  },
  {
    what: 'other ConfigMaps',
    resource: 'configmaps',
    name: 'kubeadm-config',
    namespace: 'kube-system',
    may: [],
    mayNot: [...READ, ...WRITE],
  },
  {
    what: 'its own ClusterRole: who may patch it cannot give it a right that it lacks',
    group: 'rbac.authorization.k8s.io',
    resource: 'clusterroles',
    name: OWN,
    namespace: '',
    may: ['get', 'patch', 'delete'],
    mayNot: ['create', 'update', 'deletecollection', 'bind', 'escalate'],
  },
  {
    what: 'other ClusterRoles',
    group: 'rbac.authorization.k8s.io',
    resource: 'clusterroles',
    name: 'cluster-admin',
    namespace: '',
    may: [],
    mayNot: [...READ, ...WRITE, 'bind', 'escalate'],
  },
  {
    what: 'pods everywhere',
    resource: 'pods',
    namespace: '',
    may: [],
    mayNot: [...READ, ...WRITE],
  },
  {
    what: 'what is in pods',
    resource: 'pods',
    subresource: 'exec',
    namespace: '',
    may: [],
    mayNot: ['get', 'create'],
  },
  {
    what: 'tokens',
    resource: 'serviceaccounts',
    subresource: 'token',
    name: OWN,
    namespace: NAMESPACE,
    may: [],
    mayNot: ['create'],
  },
  {
    what: 'definitions',
    group: 'apiextensions.k8s.io',
    resource: 'customresourcedefinitions',
    namespace: '',
    may: [],
    mayNot: WRITE,
  },
];

/** With a file of manifests/rights, the rights that it is about. */
const GRANTED: Readonly<Record<GrantingValue, readonly Right[]>> = {
  nativePolicies: NATIVE.map((resource) => ({
    what: 'native policies: RBAC knows no patterns of names',
    group: ADMISSION,
    resource,
    namespace: '',
    may: ['get', 'list', 'create', 'update', 'delete'],
    mayNot: ['patch', 'deletecollection'],
  })),
  patchDaemonSets: [
    {
      what: 'DaemonSets everywhere',
      group: 'apps',
      resource: 'daemonsets',
      namespace: '',
      may: [...READ, 'patch'],
      mayNot: without('patch'),
    },
  ],
  recoverPods: [
    {
      what: 'pods everywhere',
      resource: 'pods',
      namespace: '',
      may: ['list', 'watch', 'delete'],
      mayNot: ['get', ...without('delete')],
    },
  ],
  listPods: [
    { what: 'pods everywhere', resource: 'pods', namespace: '', may: ['list', 'watch'], mayNot: ['get', ...WRITE] },
  ],
  listCsiNodes: [
    {
      what: 'CSINodes',
      group: 'storage.k8s.io',
      resource: 'csinodes',
      namespace: '',
      may: ['list', 'watch'],
      mayNot: ['get', ...WRITE],
    },
  ],
  listNodePools: [
    ['karpenter.sh', 'nodepools'],
    ['cluster.x-k8s.io', 'machinedeployments'],
    ['cluster.x-k8s.io', 'machinesets'],
  ].map(([group = '', resource = '']) => ({
    what: 'node pools',
    group,
    resource,
    namespace: '',
    may: ['list'],
    mayNot: ['get', 'watch', ...WRITE],
  })),
};

describeWithControlPlane("the service account's rights", {}, (cp) => {
  beforeAll(async () => {
    expect(await cp().kubectl(['apply', '-f', INSTALL])).toMatchObject({ code: 0 });
  });

  /** RBAC looks at its copy of the rules. */
  async function expectRights(right: Right): Promise<void> {
    const asked = [...right.may, ...right.mayNot];
    const granted = async () => {
      const answers = await Promise.all(asked.map((verb) => allowed(right, verb)));
      return asked.filter((_, index) => answers[index]);
    };
    await expect.poll(granted, { timeout: RBAC_TIMEOUT_MS }).toEqual(right.may);
  }

  async function allowed(
    { group = '', resource, subresource, name, namespace }: Right,
    verb: string,
  ): Promise<boolean> {
    const resourceAttributes = {
      verb,
      group,
      resource,
      subresource,
      namespace,
      name: verb === 'create' ? undefined : name,
    };
    const { status, body } = await cp().request<{ status: { allowed: boolean } }>(
      admin,
      'POST',
      '/apis/authorization.k8s.io/v1/subjectaccessreviews',
      { body: { spec: { user, groups, resourceAttributes } } },
    );
    expect(status).toBe(201);
    return body.status.allowed;
  }

  it.each(RIGHTS_BY_DEFAULT)('$what: $group $resource $subresource $name', async (right) => {
    await expectRights(right);
  });

  it('it may ask who it is, which another installation is not', async () => {
    const account = `/api/v1/namespaces/${NAMESPACE}/serviceaccounts/${OWN}`;
    const { body } = await cp().request<{ metadata: { uid: string } }>(admin, 'GET', account);
    const issued = await cp().request<{ status: { token: string } }>(admin, 'POST', `${account}/token`, {
      body: { apiVersion: 'authentication.k8s.io/v1', kind: 'TokenRequest', spec: {} },
    });
    const { client } = await clientFor(cp().url, { user: { token: issued.body.status.token } });
    expect(await ownUid(client)).toBe(body.metadata.uid);

    const { client: nobody } = await clientFor(cp().url, { user: { token: 'not a token' } });
    await expect(ownUid(nobody)).rejects.toThrow('401 Unauthorized');
  });

  it('cannot give itself a right', async () => {
    const body = [{ op: 'add', path: '/rules/-', value: { apiGroups: [''], resources: ['secrets'], verbs: ['get'] } }];
    const role = '/apis/rbac.authorization.k8s.io/v1/clusterroles/taintkeeper';
    const answer = await cp().request<{ message: string }>({ name: user, groups }, 'PATCH', role, {
      body,
      contentType: JSON_PATCH,
    });
    expect(answer).toMatchObject({
      status: 403,
      body: { message: expect.stringContaining('grant RBAC permissions not currently held') },
    });
  });

  it('there is no rule that the table does not know', async () => {
    const spec = { namespace: NAMESPACE };
    const review = await cp().request<{ status: { resourceRules: { apiGroups: string[]; resources: string[] }[] } }>(
      { name: user, groups },
      'POST',
      '/apis/authorization.k8s.io/v1/selfsubjectrulesreviews',
      { body: { spec } },
    );
    const granted = review.body.status.resourceRules.flatMap(({ apiGroups, resources }) =>
      apiGroups.flatMap((group) => resources.map((resource) => `${group}/${resource}`)),
    );
    // What every user may: ask about itself.
    const ofEverybody = ['authorization.k8s.io/', 'authentication.k8s.io/'];
    const known = RIGHTS_BY_DEFAULT.map(
      ({ group = '', resource, subresource }) => `${group}/${resource}${subresource ? `/${subresource}` : ''}`,
    );
    const unknown = granted.filter(
      (one) => !known.includes(one) && !ofEverybody.some((prefix) => one.startsWith(prefix)),
    );
    expect(unknown).toEqual([]);
  });

  it.each(Object.entries(GRANTED) as [GrantingValue, readonly Right[]][])(
    'with %s, that and no other; taken away again, as before',
    async (value, rights) => {
      const others = RIGHTS_BY_DEFAULT.filter(
        ({ resource, subresource }) => subresource || !rights.some((right) => right.resource === resource),
      );
      expect(await cp().kubectl(['apply', '-f', RIGHTS[value]])).toMatchObject({ code: 0 });
      for (const right of [...rights, ...others]) await expectRights(right);
      expect(await cp().kubectl(['delete', '-f', RIGHTS[value]])).toMatchObject({ code: 0 });
      for (const right of RIGHTS_BY_DEFAULT) await expectRights(right);
    },
  );
});
