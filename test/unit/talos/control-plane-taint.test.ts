import { expect, it } from 'vitest';
import { parseDocuments } from '../../../src/files/documents.ts';
import { readMachineConfiguration } from '../../../src/talos/machine-configuration.ts';
import { impliedTaint } from '../../../src/talos/node-declaration.ts';

it.each([
  { text: 'machine: { type: controlplane }', implied: true },
  { text: 'machine: { type: init }', implied: true },
  { text: 'machine: { type: controlplane }\ncluster: { allowSchedulingOnControlPlanes: false }', implied: true },
  { text: 'machine: { type: controlplane }\ncluster: { allowSchedulingOnControlPlanes: true }', implied: false },
  { text: 'machine: { type: controlplane }\n---\napiVersion: v1alpha1\nkind: KubeNodeConfig', implied: false },
  { text: 'machine: { type: worker }', implied: false },
  { text: 'cluster: { allowSchedulingOnControlPlanes: false }', implied: false },
])('Talos adds the control-plane taint by itself: $implied for $text', ({ text, implied }) => {
  const configuration = readMachineConfiguration(parseDocuments(text, 'f.yaml'), 'f.yaml');
  expect(impliedTaint(configuration)?.key).toBe(implied ? 'node-role.kubernetes.io/control-plane' : undefined);
});
