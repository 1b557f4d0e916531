import { expect, it } from 'vitest';
import { projectDaemonSet, projectNode } from '../../../src/controllers/sources.ts';

const nodeWith = (metadata: object, taints: readonly object[] = []) => ({
  metadata: { name: 'n', ...metadata },
  spec: { taints },
});
const daemonSetWith = (metadata: object, podSpec: object = {}) => ({
  metadata: { name: 'cni', namespace: 'kube-system', ...metadata },
  spec: { selector: { matchLabels: {} }, template: { spec: podSpec } },
});
const many = <T>(count: number, itemOf: (index: number) => T) =>
  Array.from({ length: count }, (_, index) => itemOf(index));

it('of the labels of a Node, 1,000 are kept', () => {
  const labels = Object.fromEntries(many(2_000, (index) => [`l${index}`, '']));
  expect(Object.keys(projectNode(nodeWith({ labels })).labels)).toEqual(Object.keys(labels).slice(0, 1_000));
});

it('a Node with more than 2,048 taints is not read, because a patch replaces them all', () => {
  const taints = many(2_049, (index) => ({ key: `k${index}`, effect: 'NoSchedule' }));
  expect(projectNode(nodeWith({}, taints.slice(1))).taints).toHaveLength(2_048);
  expect(() => projectNode(nodeWith({}, taints))).toThrow('spec.taints: 2049 taints, and at most 2048 are read');
});

it('of the annotations of a DaemonSet, those are kept that the program reads', () => {
  const annotations = { 'taintkeeper.dev/ignore': 'true', other: 'x'.repeat(200_000) };
  expect(projectDaemonSet(daemonSetWith({ annotations })).annotations).toEqual({ 'taintkeeper.dev/ignore': 'true' });
});

it('a DaemonSet of which more than 64 KiB would be kept is not read', () => {
  const labels = Object.fromEntries(many(8_000, (index) => [`label-${index}`, '']));
  expect(() => projectDaemonSet(daemonSetWith({ labels }))).toThrow(
    /^spec: labels and what schedules its pods have \d+ characters/,
  );
  const nodeSelector = Object.fromEntries(many(8_000, (index) => [`label-${index}`, '']));
  expect(() => projectDaemonSet(daemonSetWith({}, { nodeSelector }))).toThrow('at most 65536 are read');
  const args = { containers: [{ args: many(100_000, () => '') }] };
  expect(projectDaemonSet(daemonSetWith({}, args)).name).toBe('cni');
});
