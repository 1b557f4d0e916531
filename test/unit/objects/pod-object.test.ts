import { expect, it } from 'vitest';
import { isOfDeployment, podOwner } from '../../../src/objects/pod-object.ts';

const OWNER = { apiVersion: 'apps/v1', kind: 'DaemonSet', name: 'cni', uid: 'u', controller: true };
const podOf = (...ownerReferences: object[]) => ({ metadata: { name: 'a', ownerReferences } }) as never;

it('the controller of a pod is its owner that says so', () => {
  expect(podOwner(podOf({ ...OWNER, controller: false }, OWNER))).toEqual(OWNER);
  expect(podOwner(podOf({ ...OWNER, controller: false }))).toBeUndefined();
  expect(podOwner(podOf())).toBeUndefined();
});

it.each(['apiVersion', 'kind', 'name', 'uid'])('an owner whose %s is longer than any name does not count', (field) => {
  expect(podOwner(podOf({ ...OWNER, [field]: 'x'.repeat(318) }))).toBeUndefined();
});

it.each([
  { why: 'its ReplicaSet', deployment: 'web', owner: 'web-5d8b', is: true },
  {
    why: 'of a Deployment whose name begins with the same word',
    deployment: 'web',
    owner: 'web-canary-5d8b',
    is: false,
  },
  { why: 'of another Deployment', deployment: 'web', owner: 'api-5d8b', is: false },
  { why: 'a DaemonSet of that name', deployment: 'web', owner: 'web-5d8b', kind: 'DaemonSet', is: false },
  { why: 'a name that was cut to make room', deployment: 'w'.repeat(253), owner: `${'w'.repeat(248)}-5d8b`, is: true },
  { why: 'no controller: only its labels are known', deployment: 'web', owner: undefined, is: true },
])('a pod is of the Deployment or not: $why', ({ deployment, owner, kind = 'ReplicaSet', is }) => {
  const ownerReferences = owner === undefined ? [] : [{ kind, name: owner, uid: 'u', controller: true }];
  const metadata = { name: 'a', labels: { 'pod-template-hash': '5d8b' }, ownerReferences };
  expect(isOfDeployment({ metadata }, deployment)).toBe(is);
});
