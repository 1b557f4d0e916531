import { expect, it } from 'vitest';
import { objectTitle } from '../../../src/kubernetes/object-title.ts';

it.each([
  { object: { resource: 'nodes', name: 'n1' }, title: 'nodes/n1' },
  {
    object: { resource: 'daemonsets', namespace: 'kube-system', name: 'flannel' },
    title: 'daemonsets/kube-system/flannel',
  },
  // A name that the API server still has to generate.
  { object: { resource: 'daemonsets', namespace: 'kube-system', name: undefined }, title: 'daemonsets/kube-system' },
])('objectTitle: $title', ({ object, title }) => {
  expect(objectTitle(object)).toBe(title);
});
