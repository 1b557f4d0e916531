import { expect, it } from 'vitest';
import { viewInstalledDaemonSet } from '../../../src/objects/workload-object.ts';

const daemonSet = (spec: object, metadata: object = { namespace: 'kube-system', name: 'agent' }) => ({
  metadata,
  spec: { template: { spec } },
});
const affinity = (required: unknown) => ({
  affinity: { nodeAffinity: { requiredDuringSchedulingIgnoredDuringExecution: required } },
});

const BARE = {
  namespace: 'kube-system',
  name: 'agent',
  nodeName: '',
  nodeSelector: {},
  nodeAffinity: undefined,
  tolerations: [],
  hostNetwork: false,
};

it.each<{ why: string; spec: object; view: object }>([
  { why: 'nothing asked for', spec: { containers: [{ name: 'agent' }] }, view: {} },
  {
    why: 'null is absent',
    spec: { nodeName: null, nodeSelector: null, affinity: null, tolerations: null, hostNetwork: null },
    view: {},
  },
  { why: 'no affinity to nodes', spec: { affinity: { podAntiAffinity: {} } }, view: {} },
  {
    why: 'preferences, which exclude no node',
    spec: { affinity: { nodeAffinity: { preferredDuringSchedulingIgnoredDuringExecution: [{ weight: 1 }] } } },
    view: {},
  },
  { why: 'a required affinity without terms is not none', spec: affinity({}), view: { nodeAffinity: [] } },
  {
    why: 'terms, and what they leave out',
    spec: affinity({
      nodeSelectorTerms: [
        { matchExpressions: [{ key: 'zone', operator: 'Exists' }] },
        { matchFields: [{ key: 'metadata.name', operator: 'In', values: ['w1'] }], matchExpressions: null },
        {},
      ],
    }),
    view: {
      nodeAffinity: [
        { matchExpressions: [{ key: 'zone', operator: 'Exists', values: [] }], matchFields: [] },
        { matchExpressions: [], matchFields: [{ key: 'metadata.name', operator: 'In', values: ['w1'] }] },
        { matchExpressions: [], matchFields: [] },
      ],
    },
  },
  {
    why: 'everything else',
    spec: { nodeName: 'w1', nodeSelector: { pool: 'gpu' }, tolerations: [{ operator: 'Exists' }], hostNetwork: true },
    view: { nodeName: 'w1', nodeSelector: { pool: 'gpu' }, tolerations: [{ operator: 'Exists' }], hostNetwork: true },
  },
])('reads $why', ({ spec, view }) => {
  expect(viewInstalledDaemonSet(daemonSet(spec), [], 'default')).toMatchObject({ ...BARE, ...view });
});

it('a DaemonSet that names no namespace is in the given one', () => {
  expect(viewInstalledDaemonSet(daemonSet({}, { name: 'agent' }), [], 'cilium')).toMatchObject({ namespace: 'cilium' });
});

it.each<{ why: string; value: unknown; error: string }>([
  { why: 'no template', value: { metadata: {}, spec: {} }, error: 'items[3].spec: template is missing' },
  {
    why: 'a selector that is a text',
    value: daemonSet({ nodeSelector: 'gpu' }),
    error: 'items[3].spec.template.spec.nodeSelector: expected a map, got "gpu"',
  },
  {
    why: 'values that are one text',
    value: daemonSet(
      affinity({ nodeSelectorTerms: [{ matchExpressions: [{ key: 'a', operator: 'In', values: 'b' }] }] }),
    ),
    error: 'nodeSelectorTerms[0].matchExpressions[0].values: expected a list, got "b"',
  },
  { why: 'a number as nodeName', value: daemonSet({ nodeName: 5 }), error: 'nodeName: expected a string, got 5' },
])('refuses $why', ({ value, error }) => {
  expect(() => viewInstalledDaemonSet(value, ['items', 3], 'default')).toThrow(error);
});
