import type { NodeView } from '../../../src/judge/node-view.ts';
import { BODY_LIMIT_BYTES } from '../../../src/server/json-body.ts';
import { daemonSetCreationReview, nodeUpdateReview } from '../reviews.ts';
import { nested, withJson } from './review-texts.ts';

// Reviews that are made to take long, within the limits of what is read.

export interface HostileBody {
  readonly what: string;
  readonly path: '/validate' | '/mutate' | '/warn';
  readonly body: () => string;
}

const times = <Item>(count: number, make: (index: number) => Item) => Array.from({ length: count }, (_, n) => make(n));
const base36 = (number: number) => number.toString(36).padStart(3, '0');

/** As many as fit twice into a body that is parsed. */
const MOST_TAINTS = 4_800;
const taints = (count: number, from = 0) => times(count, (n) => ({ key: `k${base36(n + from)}`, effect: 'NoExecute' }));
const names = (count: number) => Object.fromEntries(times(count, (n) => [`k${base36(n)}`, '']));
const node = (taintList: readonly object[], metadata: object = {}) => ({
  metadata: { name: 'cp-1', ...metadata },
  spec: { taints: taintList },
});
const update = (oldObject: object, object: object, request: object = {}) =>
  JSON.stringify(nodeUpdateReview([], [], { object, oldObject, ...request }));
const daemonSet = (tolerations: readonly object[], request: object = {}) =>
  JSON.stringify(daemonSetCreationReview(tolerations, request));
const releaseOf = (list: readonly { key: string }[]) => ({
  'taintkeeper.dev/allow-removal': list.map(({ key }) => `${key}:NoExecute`).join(','),
});
const leaving = Object.fromEntries(times(200, (n) => [`left-${n}`, '']));
const policy = (spec: object) => ({
  apiVersion: 'taintkeeper.dev/v1alpha1',
  kind: 'TaintPolicy',
  metadata: { name: 'p' },
  spec: { mode: 'Deny', taints: [{ key: 'a' }], ...spec },
});
const policyUpdate = (spec: object, before: object = { nodeSelector: { matchLabels: { before: 'x' } } }) =>
  JSON.stringify(
    nodeUpdateReview([], [], {
      resource: { group: 'taintkeeper.dev', version: 'v1alpha1', resource: 'taintpolicies' },
      object: policy(spec),
      oldObject: policy(before),
    }),
  );

const both = (what: string, body: () => string): HostileBody[] =>
  (['/validate', '/mutate'] as const).map((path) => ({ what: `${what} (${path})`, path, body }));

export const HOSTILE_BODIES: readonly HostileBody[] = [
  ...both('9,600 taints are added', () => update(node([]), node(taints(9_600)))),
  ...both('9,600 taints are removed', () => update(node(taints(9_600)), node([]))),
  ...both('128 taints are added, 128 removed, as long as keys may be', () => {
    const long = (list: readonly { key: string; effect: string }[]) =>
      list.map(({ key, effect }) => ({
        key: `${key}${'x'.repeat(240)}/${'y'.repeat(60)}`,
        value: 'v'.repeat(63),
        effect,
      }));
    return update(node(long(taints(128))), node(long(taints(128, 500))));
  }),
  ...both('one of 4,800 taints is removed', () => update(node(taints(MOST_TAINTS)), node(taints(MOST_TAINTS - 1, 1)))),
  ...both('one taint is added before 4,800', () =>
    update(node(taints(MOST_TAINTS, 1)), node([...taints(1), ...taints(MOST_TAINTS, 1)])),
  ),
  ...both('4,800 taints are put in reverse order', () =>
    update(node(taints(MOST_TAINTS)), node(taints(MOST_TAINTS).reverse())),
  ),
  ...both('4,800 taints are replaced by others', () =>
    update(node(taints(MOST_TAINTS)), node(taints(MOST_TAINTS, MOST_TAINTS))),
  ),
  ...both('3,900 taints get another value', () =>
    update(node(taints(3_900)), node(taints(3_900).map((taint) => ({ ...taint, value: 'a' })))),
  ),
  ...both('a node with 4,800 taints leaves all policies', () =>
    update(node(taints(MOST_TAINTS)), node(taints(MOST_TAINTS), { labels: leaving })),
  ),
  ...both('4,800 taints have an entry in allow-removal', () =>
    update(node(taints(MOST_TAINTS)), node(taints(MOST_TAINTS), { annotations: releaseOf(taints(MOST_TAINTS)) })),
  ),
  ...both('9,600 taints have an entry in allow-removal, and two are removed', () => {
    const list = taints(9_600).map(({ key }) => `${key}:NoExecute`);
    const text = list.join(',');
    const annotations = { 'taintkeeper.dev/allow-removal': text };
    return update(node(taints(2), { annotations }), node([], { annotations }));
  }),
  ...both('a taint whose key has 400,000 characters', () =>
    update(node([{ key: 'x'.repeat(400_000), effect: 'NoSchedule' }]), node([])),
  ),
  ...both('names of 100,000 characters', () => {
    const name = 'n'.repeat(100_000);
    const userInfo = { username: 'u'.repeat(100_000) };
    return update(node(taints(1), { name }), node([], { name }), { name, uid: name, userInfo });
  }),
  ...both('a uid of 1,900,000 control characters', () =>
    JSON.stringify({ kind: 'X', request: { uid: '\u007F'.repeat(1_900_000) } }),
  ),
  ...both('a user of 1,900,000 control characters', () =>
    update(node([]), node([{ effect: 7 }]), { userInfo: { username: '\u007F'.repeat(1_900_000) } }),
  ),
  ...both('19,900 labels', () => update(node(taints(1), { labels: names(9_900) }), node([], { labels: names(9_900) }))),
  ...both('19,900 labels that policies ask for', () => {
    const asked = `{"labels":{${times(19_900, (n) => `"left-${n % 200}":""`).join()}}}`;
    return withJson(nodeUpdateReview([], [], { object: { metadata: 'HERE' } }), asked);
  }),
  ...both('19,900 annotations', () =>
    update(node(taints(1), { annotations: names(9_900) }), node([], { annotations: names(9_900) })),
  ),
  ...both('9,600 taints, and an annotation of 1 MB', () =>
    update(node(taints(9_600)), node(taints(2), { annotations: { '': '"'.repeat(500_000) } })),
  ),
  ...both('a node with 4,800 taints and 10,000 tolerations', () => {
    const one = node(taints(MOST_TAINTS));
    const tolerations = times(10_000, () => ({ key: 'a' }));
    return update(one, { ...node(taints(2)), spec: { taints: taints(2), template: { spec: { tolerations } } } });
  }),
  ...both('1,024 groups of 1,000 characters', () =>
    update(node(taints(1)), node([]), { userInfo: { username: 'u', groups: times(1_024, () => 'a'.repeat(1_000)) } }),
  ),
  ...both('44,000 groups', () =>
    update(node(taints(1)), node([]), { userInfo: { username: 'u', groups: times(44_000, (n) => `g${n}`) } }),
  ),
  ...both('a node registers with 9,600 taints', () =>
    JSON.stringify(nodeUpdateReview([], [], { operation: 'CREATE', object: node(taints(9_600)), oldObject: null })),
  ),
  ...both('9,800 tolerations of every key, by an operator that is not known', () =>
    daemonSet(times(9_800, () => ({ operator: 'Gt', effect: 'NoExecute' }))),
  ),
  ...both('250 tolerations of every key, by an operator that is not known', () =>
    daemonSet(times(250, (n) => ({ operator: `Op${n}`, effect: 'NoExecute' }))),
  ),
  ...both('19,900 tolerations are removed', () => {
    const spec = (tolerations: readonly object[]) => ({ metadata: {}, spec: { template: { spec: { tolerations } } } });
    const oldObject = spec(times(19_900, (n) => ({ key: `k${base36(n)}` })));
    return daemonSet([], { operation: 'UPDATE', object: spec([]), oldObject });
  }),
  {
    what: 'a DaemonSet whose pod template is compared',
    path: '/mutate',
    body: () => {
      const args = times(22_000, () => '').map(() => '');
      const object = { metadata: {}, spec: { template: { spec: { containers: [{ args }] } } } };
      return daemonSet([], { operation: 'UPDATE', object, oldObject: object });
    },
  },
  {
    what: 'a text as long as a body may be',
    path: '/validate',
    body: () => update(node([]), node([], { uid: `€${'x'.repeat(BODY_LIMIT_BYTES - 5_000)}` })),
  },
  {
    what: 'texts that the webhook does not read, as many as are parsed',
    path: '/validate',
    body: () => {
      const values = `[${Array(44_900).fill('""').join()}]`;
      return withJson(nodeUpdateReview([], [], { object: { metadata: {}, status: 'HERE' } }), values);
    },
  },
  {
    what: 'members that the webhook does not read, as many as are parsed',
    path: '/validate',
    body: () => {
      const text = update(node([]), node([]));
      return text.replace('"object":{', `"object":{${'"kine":1,'.repeat(19_900)}`);
    },
  },
  ...[
    ['maps with an index', (n: number) => `{"33":${n % 10}}`],
    ['maps with a name of their own', (n: number) => `{"${base36(n)}":0}`],
    ['maps with three names of their own', (n: number) => `{"${base36(n)}":0,"x${base36(n)}":0,"y${base36(n)}":0}`],
  ].map(([what, item]): HostileBody => {
    const make = item as (n: number) => string;
    const review = nodeUpdateReview([], [], { options: 'HERE' });
    const fields = make(0).split(':').length - 1;
    const count = Math.floor(19_900 / fields);
    return { what: what as string, path: '/validate', body: () => withJson(review, `[${times(count, make).join()}]`) };
  }),
  {
    what: 'lists in lists',
    path: '/validate',
    body: () => withJson(nodeUpdateReview([], [], { object: { metadata: {}, status: 'HERE' } }), nested(19_900)),
  },
  {
    what: 'a selector of 9,800 expressions',
    path: '/warn',
    body: () =>
      policyUpdate({ nodeSelector: { matchExpressions: times(9_800, () => ({ key: 'a', operator: 'Exists' })) } }),
  },
  {
    what: 'a selector of 6,600 expressions that no schema allows',
    path: '/warn',
    body: () =>
      policyUpdate({ nodeSelector: { matchExpressions: times(6_600, () => ({ key: '', operator: '', x: 1 })) } }),
  },
  {
    what: 'a policy with 19,000 taints',
    path: '/warn',
    body: () => policyUpdate({ taints: times(19_000, (n) => ({ key: `k${n}` })) }),
  },
  {
    what: 'a policy as large as the schema allows',
    path: '/warn',
    body: () =>
      policyUpdate({
        nodeSelector: {
          matchLabels: Object.fromEntries(times(64, (n) => [`example.com/lable-${n}`, 'x'])),
          matchExpressions: times(64, (n) => ({ key: `example.com/exprs-${n}`, operator: 'Exists' })),
        },
        taints: times(64, (n) => ({ key: `example.com/taint-${n}` })),
      }),
  },
  {
    what: 'a policy that selects all nodes by 4,032 values, and contradicts 64 others',
    path: '/warn',
    body: () => {
      const nodeSelector = {
        matchExpressions: times(63, (n) => ({
          key: `feature.example.com/${n}`,
          operator: 'NotIn',
          values: times(64, (value) => `v${value}`),
        })),
      };
      const required = { value: 'hostile', effect: 'NoSchedule', ensure: 'Always' };
      const taintList = times(64, (n) => ({ ...required, key: `example.com/team-${n}` }));
      return policyUpdate({ nodeSelector, taints: taintList }, { nodeSelector });
    },
  },
];

/** Nodes of a large cluster, with labels of which each has some of its own, and with taints of the policies. */
export const MANY_NODES: readonly NodeView[] = times(5_000, (node) => ({
  name: `node-${node}`,
  labels: Object.fromEntries(times(100, (n) => [`feature.example.com/${n < 98 ? n : `${node}-${n}`}`, 'true'])),
  taints: times(8, (n) => ({ key: `example.com/team-${n + (node % 8)}`, value: 'x', effect: 'NoSchedule' })),
  allowRemoval: undefined,
}));
