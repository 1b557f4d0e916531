import { expect, it } from 'vitest';
import { openShiftMark } from '../../../src/kubernetes/openshift.ts';

it.each([
  {
    why: 'an annotation of the machine config daemon',
    labels: { 'kubernetes.io/os': 'linux' },
    annotations: { 'machineconfiguration.openshift.io/currentConfig': 'rendered-master-1' },
    mark: 'annotation machineconfiguration.openshift.io/currentConfig',
  },
  {
    why: "a label of the kubelet's command line",
    labels: { 'node.openshift.io/os_id': 'rhcos' },
    annotations: {},
    mark: 'label node.openshift.io/os_id',
  },
  {
    why: 'nothing of OpenShift',
    labels: { 'example.com/node.openshift.io': '' },
    annotations: { 'cluster.x-k8s.io/machine': 'm' },
    mark: undefined,
  },
])('$why', ({ labels, annotations, mark }) => {
  expect(openShiftMark({ labels, annotations })).toBe(mark);
});
