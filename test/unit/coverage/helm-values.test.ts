import { describe, expect, it } from 'vitest';
import { helmValues } from '../../../src/coverage/helm-values.ts';
import { need, OPERATOR, released, WHOLE, whyOf } from './needs.ts';

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
