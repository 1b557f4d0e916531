import { join } from 'node:path';
import { expect, it } from 'vitest';
import type { LintOptions } from '../../../../src/talos/lint/lint.ts';
import { readMachineConfigurations } from '../../../../src/talos/read-machine-configurations.ts';
import { BROKEN, inShort, lintFile, yamlFiles } from './linted-files.ts';

interface Case {
  readonly file: string;
  readonly options?: LintOptions;
  readonly expected: readonly string[];
}

const CASES: readonly Case[] = [
  { file: 'worker-node-taints', expected: ['8:5 worker-taint machine.nodeTaints.dedicated'] },
  {
    file: 'worker-node-taints',
    options: { version: 13 },
    expected: ['8:5 worker-taint machine.nodeTaints.dedicated'],
  },
  {
    // The kubelet registers with it. Only the older shape is left to report.
    file: 'worker-node-taints',
    options: { version: 14 },
    expected: [
      '5:3 deprecated-field machine.nodeLabels',
      '7:3 deprecated-field machine.nodeTaints',
      '10:3 deprecated-field machine.kubelet',
    ],
  },
  {
    file: 'worker-node-taints',
    options: { version: 5 },
    expected: ['7:3 field-version machine.nodeTaints'],
  },
  { file: 'worker-flag-keeps-taints', expected: ['7:3 worker-taint taints.dedicated'] },
  { file: 'worker-flag-keeps-taints', options: { version: 15 }, expected: ['7:3 worker-taint taints.dedicated'] },
  {
    file: 'malformed-taints',
    expected: [
      '5:5 malformed machine.nodeTaints.lower',
      '6:5 malformed machine.nodeTaints.equals',
      '7:5 malformed machine.nodeTaints.swapped',
      '8:5 malformed machine.nodeTaints["no key"]',
      '9:5 wrong-type machine.nodeTaints.nested',
      '12:7 malformed machine.kubelet.extraArgs["register-with-taints"]',
      '12:7 malformed machine.kubelet.extraArgs["register-with-taints"]',
      '17:11 malformed machine.kubelet.extraConfig.registerWithTaints[1]',
    ],
  },
  {
    file: 'malformed-taint-list',
    expected: [
      '3:3 wrong-type machine.nodeTaints',
      '6:3 wrong-type machine.nodeLabels',
      '10:7 kubelet-configuration machine.kubelet.extraConfig.registerWithTaints',
    ],
  },
  {
    file: 'contradicting-taints',
    expected: [
      '4:5 contradicting-taint machine.nodeTaints.dedicated',
      '9:11 contradicting-taint machine.kubelet.extraArgs["register-with-taints"][0]',
      '13:11 contradicting-taint machine.kubelet.extraConfig.registerWithTaints[0]',
    ],
  },
  {
    file: 'worker-labels',
    expected: [
      '5:5 worker-label machine.nodeLabels["node-role.kubernetes.io/worker"]',
      '6:5 worker-label machine.nodeLabels["node-restriction.kubernetes.io/team"]',
      '7:5 worker-label machine.nodeLabels["app.kubernetes.io/component"]',
      '8:5 worker-label machine.nodeLabels["x.k8s.io/y"]',
      '14:7 worker-label machine.kubelet.extraArgs["node-labels"]',
    ],
  },
  { file: 'control-plane-labels', expected: ['7:7 worker-label machine.kubelet.extraArgs["node-labels"]'] },
  {
    file: 'malformed-labels',
    expected: [
      '4:5 malformed machine.nodeLabels["a/b/c"]',
      '5:5 malformed machine.nodeLabels.spaces',
      '6:5 wrong-type machine.nodeLabels.listed',
    ],
  },
  {
    file: 'kubelet-under-cluster',
    expected: [
      '4:3 misplaced-field cluster.kubelet',
      '7:3 misplaced-field cluster.nodeTaints',
      '9:3 misplaced-field cluster.nodeLabels',
      '12:7 misplaced-flag cluster.apiServer.extraArgs["register-with-taints"]',
    ],
  },
  {
    file: 'cluster-under-kubelet',
    expected: [
      '3:3 misplaced-field machine.allowSchedulingOnControlPlanes',
      '6:5 misplaced-field machine.kubelet.podSubnets',
      '7:5 misplaced-field machine.kubelet.allowSchedulingOnControlPlanes',
      '9:7 misplaced-flag machine.kubelet.extraArgs["service-cluster-ip-range"]',
      '13:7 misplaced-flag machine.kubelet.extraConfig.serviceSubnets',
      '14:7 misplaced-flag machine.kubelet.extraConfig.nodeTaints',
    ],
  },
  {
    file: 'cert-sans',
    expected: [
      '5:7 certificate-names machine.certSANs[1]',
      '6:7 certificate-names machine.certSANs[2]',
      '8:5 certificate-names machine.kubelet.certSANs',
      '10:3 certificate-names cluster.certSANs',
      '15:9 certificate-names cluster.apiServer.certSANs[1]',
      '17:5 certificate-names cluster.apiServer.certExtraSANs',
    ],
  },
  { file: 'worker-cert-sans', expected: ['6:5 certificate-names cluster.apiServer.certSANs'] },
  {
    file: 'two-shapes',
    expected: [
      '3:3 two-shapes machine.nodeLabels',
      '4:3 two-shapes machine.nodeTaints',
      '5:3 two-shapes machine.kubelet',
      '7:5 two-shapes machine.kubelet.nodeIP',
      '9:5 two-shapes machine.network.hostname',
      '11:3 two-shapes cluster.allowSchedulingOnControlPlanes',
      '12:3 two-shapes cluster.apiServer',
      '18:1 control-plane-label labels',
    ],
  },
  { file: 'control-plane-without-label', expected: ['6:1 control-plane-label labels'] },
  {
    // Up to 1.13 it is the declared one that takes the place of Talos' own.
    file: 'control-plane-overridden',
    options: { version: 13 },
    expected: [],
  },
  {
    file: 'control-plane-overridden',
    options: { version: 14 },
    expected: [
      '3:3 deprecated-field machine.nodeTaints',
      '4:5 control-plane-taint machine.nodeTaints["node-role.kubernetes.io/control-plane"]',
    ],
  },
  {
    file: 'control-plane-tainted-all-the-same',
    expected: ['6:3 control-plane-taint cluster.allowSchedulingOnControlPlanes'],
  },
  {
    file: 'unknown-fields',
    expected: [
      '3:3 unknown-field machine.nodeTaint',
      '4:3 unknown-field machine.kubelett',
      '5:3 unknown-field machine.something',
      '9:9 unknown-field machine.network.interfaces[0].adresses',
      '12:5 unknown-field cluster.network.podSubnet',
      '14:1 control-plane-label labels',
      '16:1 unknown-field nodeTaints',
      '22:1 unknown-field kind',
      '26:1 unknown-field kind',
    ],
  },
  {
    file: 'too-new',
    options: { version: 5 },
    expected: [
      '3:3 field-version machine.nodeTaints',
      '4:3 field-version machine.nodeAnnotations',
      '7:7 wrong-type machine.kubelet.extraArgs["node-labels"]',
      '10:1 field-version kind',
    ],
  },
  {
    file: 'too-new',
    options: { version: 12 },
    expected: [
      '3:17 worker-taint machine.nodeTaints.dedicated',
      '7:7 wrong-type machine.kubelet.extraArgs["node-labels"]',
      '10:1 field-version kind',
    ],
  },
  {
    // The version is that of the installer's image.
    file: 'deprecated',
    expected: [
      '5:3 deprecated-field machine.nodeTaints',
      '6:3 deprecated-field machine.nodeLabels',
      '7:3 deprecated-field machine.kubelet',
      '9:3 deprecated-field machine.install',
      '11:3 deprecated-field machine.sysctls',
      '13:3 deprecated-field cluster.allowSchedulingOnMasters',
    ],
  },
  {
    file: 'deprecated',
    options: { version: 13 },
    expected: ['13:3 deprecated-field cluster.allowSchedulingOnMasters'],
  },
  {
    file: 'json-patch',
    expected: [
      '7:5 worker-taint machine.nodeTaints.dedicated',
      '10:3 worker-label machine.nodeLabels["node-role.kubernetes.io/gpu"]',
      '13:3 misplaced-field cluster.kubelet',
    ],
  },
  { file: 'registered-before', expected: [] },
  { file: 'registered-after', expected: [] },
];

it.each(CASES)('$file $options', async ({ file, options, expected }) => {
  const findings = await lintFile(join(BROKEN, `${file}.yaml`), options);
  expect(findings.map(inShort)).toEqual(expected);
  for (const { reason, fix } of findings) expect.soft([reason, fix]).not.toContain('');
});

it('every file has its case', () => {
  expect(yamlFiles(BROKEN)).toEqual([...new Set(CASES.map(({ file }) => `${file}.yaml`))].sort());
});

it('taints that only registration sets, compared with those that the node registered with', async () => {
  const [registered] = await readMachineConfigurations([join(BROKEN, 'registered-before.yaml')]);
  const findings = await lintFile(join(BROKEN, 'registered-after.yaml'), { registered });
  const place = '5:7 changed-registration machine.kubelet.extraArgs["register-with-taints"]';
  expect(findings.map((finding) => `${inShort(finding)}: ${finding.reason}`)).toEqual([
    expect.stringContaining(`${place}: the node registered with dedicated=gpu:NoSchedule and keeps it`),
    expect.stringContaining(`${place}: the node is registered without new:NoSchedule`),
    expect.stringContaining(`${place}: gone:NoExecute, with which the node registered`),
  ]);
  expect(await lintFile(join(BROKEN, 'registered-before.yaml'), { registered })).toEqual([]);
});
