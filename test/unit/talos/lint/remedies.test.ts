import { describe, expect, it } from 'vitest';
import { stringify } from 'yaml';
import { documentEntry, documentKinds, documentLife, type Entry, typeIn } from '../../../../src/talos/fields.ts';
import { type LintOptions, RULES } from '../../../../src/talos/lint/lint.ts';
import { LAST_VERSION } from '../../../../src/talos/versions.ts';
import { inShort, lintText } from './linted-files.ts';

const ROLE = 'node-role.kubernetes.io/control-plane';
const document = (kind: string, rest = '') => `---\napiVersion: v1alpha1\nkind: ${kind}\n${rest}\n`;
const worker = (rest: string) => `machine:\n  type: worker\n  ${rest.replaceAll('\n', '\n  ')}\n`;
const controlPlane = (rest = '') => `machine:\n  type: controlplane\n  ${rest}\n`;

interface Remedy {
  readonly rule: string;
  readonly wrong: string;
  /** The same, done as the fix says. */
  readonly fixed: string;
  /** What it says. */
  readonly says: string | RegExp;
  readonly options?: LintOptions;
}

const REMEDIES: readonly Remedy[] = [
  {
    rule: 'malformed',
    wrong: worker('nodeLabels: { "a b": c }'),
    fixed: worker('nodeLabels: { a-b: c }'),
    says: 'write NAME or DOMAIN/NAME',
  },
  {
    rule: 'malformed',
    options: { version: 13 },
    wrong: controlPlane('nodeTaints: { dedicated=gpu: NoSchedule }'),
    fixed: controlPlane('nodeTaints: { dedicated: "gpu:NoSchedule" }'),
    says: /^write dedicated: gpu:NoSchedule$/,
  },
  {
    rule: 'malformed',
    wrong: 'machine: { type: master }',
    fixed: 'machine: { type: controlplane }',
    says: 'write controlplane or worker',
  },
  {
    rule: 'duplicate-taint',
    wrong: worker(
      'kubelet: { extraConfig: { registerWithTaints: [{ key: a, effect: NoSchedule }, { key: a, value: b, effect: NoSchedule }] } }',
    ),
    fixed: worker('kubelet: { extraConfig: { registerWithTaints: [{ key: a, effect: NoSchedule }] } }'),
    says: 'keep one of the two',
  },
  {
    rule: 'notation',
    wrong: worker('kubelet: { <<: { image: a } }'),
    fixed: worker('kubelet: { image: a }'),
    says: 'write its entries here',
  },
  {
    rule: 'notation',
    options: { version: 14 },
    wrong: worker('nodeAnnotations: &common { rack: &r 0010 }\nnodeLabels: { <<: *common }'),
    fixed: worker('nodeAnnotations: { rack: &r 0010 }\nnodeLabels: { rack: *r }'),
    says: 'with an alias for each value (key: *name)',
  },
  {
    rule: 'notation',
    options: { version: 14 },
    wrong: worker('nodeAnnotations: { since: 2001-01-01 }'),
    fixed: worker('nodeAnnotations: { since: "2001-01-01" }'),
    says: 'put it in quotes',
  },
  {
    rule: 'wrong-type',
    wrong: 'machine: worker',
    fixed: 'machine: { type: worker }',
    says: 'write a mapping of its fields below it, such as "type: …"',
  },
  {
    rule: 'wrong-type',
    wrong: 'machine: { install: /dev/sda }',
    fixed: 'machine: { install: { disk: /dev/sda } }',
    says: 'such as "disk: …"',
  },
  {
    rule: 'wrong-type',
    wrong: 'machine: { certSANs: 10.0.0.1 }',
    fixed: 'machine:\n  certSANs:\n    - 10.0.0.1',
    says: 'write a list: "- VALUE" for each, on a line of its own',
  },
  {
    rule: 'wrong-type',
    options: { version: 13 },
    wrong: worker('kubelet: { extraArgs: { node-labels: [a=b, c=d] } }'),
    fixed: worker('kubelet: { extraArgs: { node-labels: "a=b,c=d" } }'),
    says: 'write one text, with commas between the parts, or upgrade to Talos 1.13.6 first',
  },
  {
    rule: 'kubelet-field',
    wrong: worker('kubelet: { extraConfig: { registerWithTaint: [] } }'),
    fixed: worker('kubelet: { extraConfig: { registerWithTaints: [] } }'),
    says: 'did you mean registerWithTaints?',
  },
  {
    rule: 'kubelet-field',
    options: { version: 5 },
    wrong: worker('kubelet: { extraConfig: { crashLoopBackOff: {} } }'),
    fixed: worker('kubelet: { extraConfig: {} }'),
    says: 'remove it, or upgrade to Talos 1.9 first',
  },
  {
    rule: 'kubelet-configuration',
    wrong: worker('kubelet: { extraConfig: { registerWithTaints: [{ key: a, value: true, effect: NoSchedule }] } }'),
    fixed: worker('kubelet: { extraConfig: { registerWithTaints: [{ key: a, value: "true", effect: NoSchedule }] } }'),
    says: 'put the value in quotes: value: "true"',
  },
  {
    rule: 'kubelet-configuration',
    wrong: worker('kubelet: { extraConfig: { port: 10250 } }'),
    fixed: worker('kubelet: { extraConfig: {} }'),
    says: 'remove it: it cannot be overridden',
  },
  {
    rule: 'managed-argument',
    wrong: worker('kubelet: { extraArgs: { kubeconfig: /a } }'),
    fixed: worker('kubelet: { extraArgs: {} }'),
    says: 'remove it',
  },
  {
    rule: 'incomplete',
    wrong: worker('ca: { crt: a }'),
    fixed: `${worker('ca: { crt: a }')}cluster: { controlPlane: { endpoint: "https://a:6443" } }`,
    says: 'add cluster.controlPlane.endpoint: https://HOST:6443',
  },
  {
    rule: 'patch-directive',
    options: { version: 14 },
    wrong: `${worker('ca: { crt: a }\nnodeLabels: { $patch: delete }')}cluster: {}`,
    fixed: `${worker('ca: { crt: a }')}cluster: {}`,
    says: 'move it to a patch, or remove the section',
  },
  { rule: 'persist', wrong: 'persist: false', fixed: 'persist: true', says: 'write persist: true' },
  {
    rule: 'control-plane-document',
    wrong: `${worker('token: a')}cluster: { etcd: {} }`,
    fixed: `${worker('token: a')}cluster: {}`,
    says: 'it belongs in the configuration of the control-plane nodes',
  },
  {
    rule: 'worker-taint',
    options: { version: 13 },
    wrong: worker('nodeTaints: { dedicated: "gpu:NoSchedule" }'),
    fixed: worker(
      'nodeTaints: { dedicated: "gpu:NoSchedule" }\nkubelet: { extraConfig: { registerWithTaints: [{ key: dedicated, value: gpu, effect: NoSchedule }] } }',
    ),
    says: 'registerWithTaints: [{ key: dedicated, value: gpu, effect: NoSchedule }]',
  },
  {
    rule: 'worker-taint',
    options: { version: 14 },
    wrong: `${worker('token: a')}${document('KubeletConfig', 'extraArgs: { register-with-taints: "b:NoSchedule" }')}${document('KubeNodeConfig', 'taints: { a: NoSchedule }')}`,
    fixed: `${worker('token: a')}${document('KubeletConfig')}${document('KubeNodeConfig', 'taints: { a: NoSchedule, b: NoSchedule }')}`,
    says: 'declare all taints here, and remove register-with-taints from extraArgs',
  },
  {
    rule: 'contradicting-taint',
    options: { version: 13 },
    wrong: controlPlane(
      'nodeTaints: { a: NoSchedule }\n  kubelet: { extraConfig: { registerWithTaints: [{ key: a, effect: NoExecute }] } }',
    ),
    fixed: controlPlane('nodeTaints: { a: NoSchedule }'),
    says: 'declare the taint once, or the same in both places',
  },
  {
    rule: 'control-plane-taint',
    options: { version: 14 },
    wrong: controlPlane(`nodeTaints: { ${ROLE}: NoExecute }`),
    fixed: controlPlane(),
    says: /^remove it$/,
  },
  {
    rule: 'control-plane-taint',
    options: { version: 14 },
    wrong: controlPlane(`nodeTaints: { ${ROLE}: PreferNoSchedule }`),
    fixed: `${controlPlane(`nodeTaints: { ${ROLE}: PreferNoSchedule }`)}cluster: { allowSchedulingOnControlPlanes: true }`,
    says: 'set cluster.allowSchedulingOnControlPlanes: true and keep this taint',
  },
  {
    rule: 'control-plane-taint',
    wrong: `${controlPlane(`nodeTaints: { ${ROLE}: NoSchedule }`)}cluster: { allowSchedulingOnControlPlanes: true }`,
    fixed: `${controlPlane()}cluster: { allowSchedulingOnControlPlanes: true }`,
    says: 'remove the taint from nodeTaints',
  },
  {
    rule: 'control-plane-label',
    wrong: `${controlPlane()}${document('KubeNodeConfig')}`,
    fixed: `${controlPlane()}${document('KubeNodeConfig', `labels: { ${ROLE}: "" }`)}`,
    says: `add to its labels ${ROLE}: ""`,
  },
  {
    rule: 'worker-label',
    wrong: worker('nodeLabels: { node-role.kubernetes.io/gpu: "" }'),
    fixed: worker('nodeLabels: { example.com/gpu: "" }'),
    says: 'take a key of your own (example.com/gpu)',
  },
  {
    // What the check for a schedulable control plane once told people to write.
    rule: 'two-shapes',
    wrong: `${controlPlane()}cluster: { allowSchedulingOnControlPlanes: true }\n${document('KubeNodeConfig', `labels: { ${ROLE}: "" }`)}`,
    fixed: `${controlPlane()}${document('KubeNodeConfig', `labels: { ${ROLE}: "" }`)}`,
    says: `remove it: beside a KubeNodeConfig, nothing but the taint ${ROLE} of its own keeps ordinary pods off`,
  },
  {
    rule: 'two-shapes',
    options: { version: 14 },
    wrong: `${worker('nodeLabels: { a: b }')}${document('KubeNodeConfig')}`,
    fixed: `${worker('token: a')}${document('KubeNodeConfig', 'labels: { a: b }')}`,
    says: 'set the same in a KubeNodeConfig document',
  },
  {
    rule: 'same-name',
    wrong: `${document('LinkConfig', 'name: a')}${document('BondConfig', 'name: a')}`,
    fixed: `${document('LinkConfig', 'name: a')}${document('BondConfig', 'name: b')}`,
    says: 'give one another name',
  },
  {
    rule: 'control-plane-document',
    wrong: `${worker('token: a')}${document('KubeProxyConfig')}`,
    fixed: worker('token: a'),
    says: 'remove it here',
  },
  {
    rule: 'misplaced-field',
    wrong: 'cluster: { nodeTaints: { a: NoSchedule } }',
    fixed: 'machine: { nodeTaints: { a: NoSchedule } }',
    says: /^move it to machine\.nodeTaints$/,
  },
  {
    // There, it would be in two shapes.
    rule: 'misplaced-field',
    wrong: `cluster: { nodeTaints: { a: NoSchedule } }\n${document('KubeNodeConfig')}`,
    fixed: `cluster: {}\n${document('KubeNodeConfig', 'taints: { a: NoSchedule }')}`,
    says: /^move it to a KubeNodeConfig document$/,
  },
  {
    rule: 'misplaced-field',
    options: { version: 15 },
    wrong: 'cluster: { nodeTaints: { a: NoSchedule } }',
    fixed: `cluster: {}\n${document('KubeNodeConfig', 'taints: { a: NoSchedule }')}`,
    says: /^move it to a KubeNodeConfig document$/,
  },
  {
    rule: 'misplaced-flag',
    wrong: 'machine: { kubelet: { extraArgs: { service-cluster-ip-range: 10.0.0.0/12 } } }',
    fixed: 'cluster: { apiServer: { extraArgs: { service-cluster-ip-range: 10.0.0.0/12 } } }',
    says: 'move it to cluster.apiServer.extraArgs',
  },
  {
    rule: 'certificate-names',
    wrong: 'machine: { certSANs: [kubernetes.default.svc] }',
    fixed: 'cluster: { apiServer: { certSANs: [kubernetes.default.svc] } }',
    says: 'name it in cluster.apiServer.certSANs',
  },
  {
    rule: 'unknown-field',
    wrong: 'machine: { nodeTaint: {} }',
    fixed: 'machine: { nodeTaints: {} }',
    says: 'did you mean nodeTaints?',
  },
  {
    rule: 'unknown-field',
    wrong: document('UnattendedInstall'),
    fixed: document('UnattendedInstallConfig'),
    says: 'did you mean UnattendedInstallConfig?',
  },
  {
    rule: 'field-version',
    options: { version: 5 },
    wrong: 'machine: { nodeTaints: {} }',
    fixed: 'machine: {}',
    says: 'upgrade to Talos 1.6 or later first, or remove it',
  },
  {
    rule: 'deprecated-field',
    options: { version: 13 },
    wrong: `${controlPlane()}cluster: { allowSchedulingOnMasters: true }`,
    fixed: `${controlPlane()}cluster: { allowSchedulingOnControlPlanes: true }`,
    says: 'set the same in cluster.allowSchedulingOnControlPlanes',
  },
  {
    // And not into the field that is deprecated by then, too.
    rule: 'deprecated-field',
    options: { version: 14 },
    wrong: `${controlPlane()}cluster: { allowSchedulingOnMasters: true }`,
    fixed: `${controlPlane()}${document('KubeNodeConfig', `labels: { ${ROLE}: "" }`)}`,
    says: 'set the same in a KubeNodeConfig document (where Talos adds neither label nor taint to a control plane by itself)',
  },
  {
    rule: 'deprecated-field',
    options: { version: 14 },
    wrong: worker('kubelet: { image: a, nodeIP: {}, extraMounts: [] }'),
    fixed: `${worker('token: a')}${document('KubeletConfig', 'image: a')}${document('KubeNodeConfig', 'nodeIP: {}')}`,
    says: /a KubeletConfig document or a KubeNodeConfig document .*; nothing takes the place of extraMounts$/,
  },
];

describe('what a finding tells people to do', () => {
  it.each(REMEDIES)('$rule: $says', ({ rule, wrong, fixed, says, options }) => {
    const findings = lintText(wrong, options).filter((finding) => finding.rule === rule);
    expect(findings).not.toEqual([]);
    for (const { fix } of findings.slice(0, 1)) {
      expect(fix)[typeof says === 'string' ? 'toContain' : 'toMatch'](says as string);
    }
    // Nothing is left of it, and nothing new comes.
    const before = lintText(wrong, options)
      .filter((finding) => finding.rule !== rule)
      .map((finding) => finding.rule);
    const after = lintText(fixed, options).filter((finding) => !before.includes(finding.rule) || finding.rule === rule);
    expect(after.map(inShort)).toEqual([]);
  });

  it('is tried of every rule but those that need another file', () => {
    const rules = RULES.map(({ id }) => id).filter((id) => !['changed-registration', 'owned-taint'].includes(id));
    expect([...new Set(REMEDIES.map(({ rule }) => rule))].sort()).toEqual(rules.sort());
  });
});

interface DeprecatedField {
  readonly path: readonly string[];
  readonly since: number;
  readonly value: unknown;
}

/** A value of the field's type that says as little as it can. */
function aValue(entry: Entry): unknown {
  const type = typeIn(entry);
  if (type.startsWith('[]')) return [];
  const [name] = entry.children.keys();
  if (type === 'value' && name !== undefined) return { [name]: {} };
  return /^(\{\}|struct)/.test(type) ? {} : type === 'bool' ? false : type === 'text' ? 'a' : 1;
}

/** Every field of the older shape that is deprecated in some version, down to lists. */
function deprecated(entry: Entry | undefined, path: readonly string[] = []): DeprecatedField[] {
  if (entry?.children.has('*')) return [];
  return [...(entry?.children ?? [])].flatMap(([name, below]) => [
    ...(below.life?.deprecated === undefined
      ? []
      : [{ path: [...path, name], since: below.life.deprecated, value: aValue(below) }]),
    ...deprecated(below, [...path, name]),
  ]);
}

describe('the documents that take the place of a deprecated field', () => {
  const fields = deprecated(documentEntry(undefined)).filter(({ path }) => path.length > 1);

  it.each(fields)('$path since 1.$since', ({ path, since, value }) => {
    const older = (rest: unknown) =>
      stringify({
        machine: { type: 'controlplane' },
        ...(path.reduceRight<unknown>((below, name) => ({ [name]: below }), rest) as object),
      });
    for (let version = since; version <= LAST_VERSION; version += 1) {
      const findings = lintText(older(value), { version }).filter(({ rule }) => rule === 'deprecated-field');
      expect(findings).toHaveLength(1);
      for (const { fix } of findings) {
        expect(fix).toMatch(/set the same in|nothing takes the place of|see the upgrade notes/);
        const kinds = documentKinds().filter((kind) => new RegExp(`\\b${kind}\\b`).test(fix));
        const documents = kinds.map((kind) => `---\napiVersion: v1alpha1\nkind: ${kind}\nname: a\n`).join('');
        for (const kind of kinds) expect(documentLife(kind)?.since).toBeLessThanOrEqual(version);
        // They stand beside each other, and the version has them.
        const rules = lintText(`machine: { token: a }\n${documents}`, { version }).map(({ rule }) => rule);
        expect(rules.filter((rule) => rule !== 'unknown-field')).toEqual([]);
      }
    }
  });
});
