import { expect, it } from 'vitest';
import { isNodeCritical, isPluginDirectory } from '../../../src/scheduling/node-critical.ts';

it.each([
  { path: '/opt/cni/bin', is: true },
  { path: '/etc/cni/net.d/', is: true },
  { path: '/var/lib/rancher/k3s/agent/etc/cni/net.d', is: true },
  { path: '/var/lib/kubelet/device-plugins', is: true },
  { path: '/var/lib/kubelet/plugins/csi.example.com', is: true },
  { path: '/var/lib/kubelet/pods', is: false },
  { path: '/var/lib/kubelet/pod-resources', is: false },
  { path: '/var/log', is: false },
])('$path holds plugins: $is', ({ path, is }) => {
  expect(isPluginDirectory(path)).toBe(is);
});

it.each([
  { why: 'a CNI writes its plugin', priorityClass: '', writes: ['/opt/cni/bin', '/run/flannel'], is: true },
  {
    why: 'kube-proxy has the class, and writes no plugins',
    priorityClass: 'system-node-critical',
    writes: [],
    is: true,
  },
  {
    why: 'a device plugin has the class, and is for some nodes',
    priorityClass: 'system-node-critical',
    writes: ['/var/lib/kubelet/device-plugins'],
    is: false,
  },
  { why: 'a log agent', priorityClass: 'system-cluster-critical', writes: ['/var/log'], is: false },
])('makes a node usable or not: $why', ({ priorityClass, writes, is }) => {
  expect(isNodeCritical(priorityClass, writes)).toBe(is);
});
