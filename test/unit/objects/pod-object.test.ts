import { expect, it } from 'vitest';
import { controllerOf } from '../../../src/objects/pod-object.ts';

const OWNER = { apiVersion: 'apps/v1', kind: 'DaemonSet', name: 'cni', uid: 'u', controller: true };
const podOf = (...ownerReferences: object[]) => ({ metadata: { name: 'a', ownerReferences } }) as never;

it('the controller of a pod is its owner that says so', () => {
  expect(controllerOf(podOf({ ...OWNER, controller: false }, OWNER))).toEqual(OWNER);
  expect(controllerOf(podOf({ ...OWNER, controller: false }))).toBeUndefined();
  expect(controllerOf(podOf())).toBeUndefined();
});

it.each(['apiVersion', 'kind', 'name', 'uid'])('an owner whose %s is longer than any name does not count', (field) => {
  expect(controllerOf(podOf({ ...OWNER, [field]: 'x'.repeat(318) }))).toBeUndefined();
});
