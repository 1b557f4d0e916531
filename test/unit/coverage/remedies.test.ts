import { describe, expect, it } from 'vitest';
import type { MissingTolerations } from '../../../src/coverage/missing-tolerations.ts';
import { helmValues, kustomizeComponent, patchCommands } from '../../../src/coverage/remedies.ts';
import type { InstalledDaemonSet } from '../../../src/coverage/workload.ts';
import type { PolicyToleration } from '../../../src/policy/toleration-policy.ts';
import { CONTROL_PLANE, daemonSet, MASTER } from '../scheduling/scheduling.ts';

const tolerationOf = (key: string): PolicyToleration => ({ key, operator: 'Exists', effect: 'NoSchedule' });
const OWN = { key: CONTROL_PLANE.key, operator: 'Exists', effect: 'NoSchedule', value: null };
const ADDED = tolerationOf(MASTER.key);
const WHOLE = [tolerationOf(CONTROL_PLANE.key), ADDED];

const need = (name: string, given: Partial<InstalledDaemonSet> = {}): MissingTolerations<InstalledDaemonSet> => ({
  daemonSet: {
    ...daemonSet(name, { tolerations: [OWN] }),
    annotations: {},
    labels: {},
    controller: undefined,
    priorityClass: '',
    pluginDirectories: [],
    ...given,
  },
  tolerations: [ADDED],
});
const OPERATOR = { kind: 'Installation', name: 'default' };
const released = (release: string) => ({ 'meta.helm.sh/release-name': release });
const whyOf = ({ left }: { left: readonly { daemonSet: { name: string }; why: string }[] }) =>
  Object.fromEntries(left.map(({ daemonSet: { name }, why }) => [name, why]));

describe('values for Helm', () => {
  it.each([
    { name: 'cilium', labels: { 'k8s-app': 'cilium' }, chart: 'cilium', values: { tolerations: WHOLE } },
    {
      name: 'cilium-envoy',
      labels: { 'k8s-app': 'cilium-envoy' },
      chart: 'cilium',
      values: { envoy: { tolerations: WHOLE } },
    },
    {
      name: 'cilium-node-init',
      labels: { app: 'cilium-node-init' },
      chart: 'cilium',
      values: { nodeinit: { tolerations: WHOLE } },
    },
    {
      name: 'kube-flannel-ds',
      labels: { app: 'flannel', tier: 'node' },
      chart: 'flannel',
      values: { flannel: { tolerations: WHOLE } },
    },
  ])('of $name, with what it tolerates already', ({ name, labels, chart, values }) => {
    expect(helmValues([need(name, { labels, annotations: released('net') })])).toEqual({
      remedies: [{ chart, release: 'net', namespace: 'kube-system', values }],
      left: [],
    });
  });

  it('of several DaemonSets of one release are one object', () => {
    const cilium = need('cilium', { labels: { 'k8s-app': 'cilium' } });
    const envoy = need('cilium-envoy', { labels: { 'k8s-app': 'cilium-envoy' } });
    expect(helmValues([cilium, envoy]).remedies).toEqual([
      {
        chart: 'cilium',
        release: undefined,
        namespace: 'kube-system',
        values: { tolerations: WHOLE, envoy: { tolerations: WHOLE } },
      },
    ]);
  });

  it.each(['calico-node', 'calico-node-windows', 'csi-node-driver'])('of the operator of Calico: %s', (name) => {
    const [remedy] = helmValues([need(name, { controller: OPERATOR })]).remedies;
    const field = { 'calico-node': 'calicoNodeDaemonSet', 'calico-node-windows': 'calicoNodeWindowsDaemonSet' }[name];
    expect(remedy).toMatchObject({
      chart: 'tigera-operator',
      values: {
        installation: { [field ?? 'csiNodeDriverDaemonSet']: { spec: { template: { spec: { tolerations: WHOLE } } } } },
      },
    });
  });

  it('are not guessed for an unknown chart', () => {
    const left = helmValues([
      need('calico-node'),
      need('kube-flannel-ds', { labels: { app: 'mine' } }),
      need('agent', { labels: { 'helm.sh/chart': 'some-agent-1.2.3' } }),
      need('exporter', { labels: { 'helm.sh/chart': 'node-exporter-v4.0' }, annotations: released('stack') }),
      need('old', { annotations: released('old release') }),
      need('operand', { controller: { kind: 'Prometheus', name: 'k8s' } }),
    ]);
    expect(left.remedies).toEqual([]);
    expect(whyOf(left)).toEqual({
      'calico-node': 'nothing about it says that it comes from a Helm chart',
      'kube-flannel-ds': 'nothing about it says that it comes from a Helm chart',
      agent: 'taintkeeper does not know the values of chart some-agent: look for tolerations in helm show values',
      exporter:
        'taintkeeper does not know the values of chart node-exporter: look for tolerations in helm get values --all -n kube-system stack',
      old: "taintkeeper does not know the values of its chart: look for tolerations in helm get values --all -n kube-system 'old release'",
      operand: 'it belongs to Prometheus k8s: change its tolerations there',
    });
  });
});

describe('a command', () => {
  const commandOf = (given: Partial<InstalledDaemonSet>, name = 'agent') =>
    patchCommands([need(name, given)]).remedies.map(({ command, revertedBy }) => [command, revertedBy]);

  it('adds tolerations at the end, so that none is lost', () => {
    expect(commandOf({})).toEqual([
      [
        `kubectl patch -n kube-system daemonset agent --type=json -p '[{"op":"add","path":"/spec/template/spec/tolerations/-","value":${JSON.stringify(ADDED)}}]'`,
        undefined,
      ],
    ]);
  });

  it('creates a list only if there is none', () => {
    expect(commandOf({ tolerations: [] })[0]?.[0]).toContain(
      `[{"op":"test","path":"/spec/template/spec/tolerations","value":null},{"op":"add","path":"/spec/template/spec/tolerations","value":[${JSON.stringify(ADDED)}]}]`,
    );
  });

  it('for the operator of Calico changes the object that the operator reads', () => {
    const patch = { spec: { calicoNodeDaemonSet: { spec: { template: { spec: { tolerations: WHOLE } } } } } };
    expect(commandOf({ controller: OPERATOR }, 'calico-node')).toEqual([
      [`kubectl patch installation.operator.tigera.io default --type=merge -p '${JSON.stringify(patch)}'`, undefined],
    ]);
  });

  it.each([
    { annotations: released('net'), by: 'Helm, for release net' },
    { labels: { 'app.kubernetes.io/managed-by': 'Flux' }, by: 'Flux' },
  ])('comes with who would revert it: $by', ({ by, ...given }) => {
    expect(commandOf(given)[0]?.[1]).toBe(by);
  });

  it('is not proposed if a controller would revert it', () => {
    const { remedies, left } = patchCommands([need('operand', { controller: { kind: 'Prometheus', name: 'k8s' } })]);
    expect(remedies).toEqual([]);
    expect(left.map(({ why }) => why)).toEqual(['it belongs to Prometheus k8s: its controller would revert a patch']);
  });

  it('quotes names for the shell', () => {
    expect(commandOf({ namespace: '$(reboot)' })[0]?.[0]).toContain("-n '$(reboot)' daemonset");
  });
});

describe('a component of Kustomize', () => {
  it('has a patch for each DaemonSet, by its name as a regular expression', () => {
    const { remedies, left } = kustomizeComponent(
      [need('a.b'), need('operand', { controller: { kind: 'Prometheus', name: 'k8s' } })],
      JSON.stringify,
    );
    expect(remedies[0]?.patches).toEqual([
      {
        target: { group: 'apps', version: 'v1', kind: 'DaemonSet', name: 'a\\.b' },
        patch: JSON.stringify({
          apiVersion: 'apps/v1',
          kind: 'DaemonSet',
          metadata: { name: 'a.b' },
          spec: { template: { spec: { tolerations: WHOLE } } },
        }),
      },
    ]);
    expect(whyOf({ left })).toEqual({ operand: 'it belongs to Prometheus k8s: it has no manifest of its own' });
  });

  it('distinguishes two with the same name by their namespaces', () => {
    const { remedies } = kustomizeComponent([need('a', { namespace: 'one' }), need('a', { namespace: 'two' })], String);
    expect(remedies[0]?.patches.map(({ target }) => (target as { namespace: string }).namespace)).toEqual([
      'one',
      'two',
    ]);
  });
});
