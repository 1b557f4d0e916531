import { expect, it } from 'vitest';
import { type BindingView, broadGrants, explainGrant, type RoleView } from '../../../src/coverage/broad-grants.ts';

const RULE = { apiGroups: ['taintkeeper.dev'], resources: ['taints'], verbs: ['tolerate'] };
const ROLES: readonly RoleView[] = [
  { name: 'gpu', rules: [{ ...RULE, resourceNames: ['gpu'] }] },
  { name: 'any', rules: [RULE] },
  { name: 'everything', rules: [{ apiGroups: ['*'], resources: ['*'], verbs: ['*'] }] },
  { name: 'reader', rules: [{ ...RULE, verbs: ['get'] }] },
];
const group = (name: string) => ({ kind: 'Group', name });
const account = (namespace: string, name: string) => ({ kind: 'ServiceAccount', namespace, name });
const user = (name: string) => ({ kind: 'User', name });

it.each<{ subject: BindingView['subjects'][number]; role?: string; keys?: string[]; reaches: unknown }>([
  { subject: group('system:serviceaccounts'), reaches: 'every pod' },
  { subject: group('system:authenticated'), reaches: 'every pod' },
  { subject: group('system:serviceaccounts'), role: 'any', keys: ['gpu', 'other'], reaches: 'every pod' },
  { subject: group('system:serviceaccounts'), role: 'everything', keys: ['gpu', 'other'], reaches: 'every pod' },
  { subject: group('system:serviceaccounts:kube-system'), reaches: { namespace: 'kube-system' } },
  { subject: account('kube-system', 'replicaset-controller'), reaches: 'a controller' },
  { subject: user('system:serviceaccount:kube-system:job-controller'), reaches: 'a controller' },
  { subject: account('kube-system', 'generic-garbage-collector'), reaches: 'a controller' },
  { subject: account('kube-system', 'namespace-controller'), reaches: 'a controller' },
  { subject: user('system:kube-controller-manager'), reaches: 'a controller' },
])('$role to $subject.kind $subject.name reaches $reaches', ({ subject, role = 'gpu', keys = ['gpu'], reaches }) => {
  const found = broadGrants(['gpu', 'other'], ROLES, [{ name: 'b', role, subjects: [subject] }]);
  expect(found).toMatchObject([{ binding: 'b', keys, reaches }]);
});

it.each<{ subject: BindingView['subjects'][number]; role?: string; why?: string }>([
  { subject: account('team', 'training') },
  { subject: account('kube-system', 'node-exporter') },
  { subject: account('kube-system', 'aws-load-balancer-controller'), why: 'its pods have this service account' },
  { subject: user('system:serviceaccount:kube-system:ebs-csi-controller'), why: 'its pods have this service account' },
  { subject: account('team', 'replicaset-controller') },
  { subject: user('dev@example.com') },
  { subject: user('system:admin'), why: 'a person' },
  { subject: group('system:masters'), role: 'everything', why: 'administrators' },
  { subject: group('system:serviceaccounts'), role: 'reader' },
  { subject: group('system:serviceaccounts'), role: 'deleted' },
])('$role to $subject.kind $subject.name is no matter', ({ subject, role = 'gpu' }) => {
  expect(broadGrants(['gpu'], ROLES, [{ name: 'b', role, subjects: [subject] }])).toEqual([]);
});

it('says what each does and what to do', () => {
  const subjects = [
    group('system:serviceaccounts'),
    group('system:serviceaccounts:kube-system'),
    account('kube-system', 'replicaset-controller'),
  ];
  const found = broadGrants(['gpu'], ROLES, [{ name: 'b', role: 'gpu', subjects }]);
  expect(found.map(explainGrant)).toEqual([
    {
      effect: 'ClusterRoleBinding b lets Group system:serviceaccounts tolerate gpu: every pod may',
      remedy: 'bind only the service accounts that need it',
    },
    {
      effect:
        'ClusterRoleBinding b lets Group system:serviceaccounts:kube-system tolerate gpu: every pod in namespace kube-system may',
      remedy: 'bind only the service accounts that need it',
    },
    {
      effect:
        'ClusterRoleBinding b lets ServiceAccount kube-system/replicaset-controller tolerate gpu: this admits no pod, because the right of a controller does not count',
      remedy: 'bind the service accounts of the pods instead',
    },
  ]);
});
