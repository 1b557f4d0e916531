import { describe, expect, it } from 'vitest';
import { readBuiltinPolicies } from '../../../src/files/builtin-policies.ts';
import { parsePolicies } from '../../../src/files/policy-files.ts';
import { formatRequirement } from '../../../src/kubernetes/selector-overlap.ts';
import type { Policy } from '../../../src/policy/policy.ts';
import type { TaintPolicySpec } from '../../../src/policy/taint-policy.ts';
import type { TaintRule } from '../../../src/policy/taint-rule.ts';
import type { TolerationPolicySpec } from '../../../src/policy/toleration-policy.ts';
import { webhookEntries } from '../../../src/webhooks/webhook-entries.ts';
import type { WebhookEntry } from '../../../src/webhooks/webhook-entry.ts';

const dedicated = { key: 'dedicated' };
const UNPROTECTED = { key: 'out' } as const;
const present = { key: 'dedicated', value: 'gpu', effect: 'NoSchedule', ensure: 'Always' } as const;

function taintPolicy(spec: Partial<TaintPolicySpec>, name = 'p'): Policy {
  return { kind: 'TaintPolicy', name, spec: { mode: 'Deny', taints: [dedicated], ...spec } };
}

function tolerationPolicy(spec: Partial<TolerationPolicySpec>, name = 'p'): Policy {
  return {
    kind: 'TolerationPolicy',
    name,
    spec: { mode: 'Mutate', daemonSets: { namespaces: ['kube-system'] }, ...spec },
  };
}

function expressionOf(entries: readonly WebhookEntry[], entry: string, condition: string): string | undefined {
  const found = entries.find(({ name }) => name === `${entry}.taintkeeper.dev`);
  return found?.matchConditions.find(({ name }) => name === condition)?.expression;
}

describe('what they are kept away from by selectors', () => {
  const pool = (value: string) => ({ nodeSelector: { matchLabels: { pool: value } } });
  const selectorsOf = (policies: Policy[]) =>
    webhookEntries(policies).map(
      ({ name, objectSelector = [], namespaceSelector = [] }) =>
        `${name.replace('.taintkeeper.dev', '')} ${[...objectSelector, ...namespaceSelector].map(formatRequirement)}`,
    );

  it('updates of nodes that none of the policies is for that they stand for', () => {
    const audit = taintPolicy({ mode: 'Audit', ...pool('b') }, 'q');
    expect(selectorsOf([taintPolicy(pool('a')), audit])).toEqual([
      'register ',
      'restore pool=a',
      'protect pool=a',
      'report pool=b',
    ]);
    const restoring = taintPolicy({ mode: 'Restore' }, 'r');
    expect(selectorsOf([taintPolicy(pool('a')), restoring])).toEqual([
      'register ',
      'restore ',
      'protect pool=a',
      'report ',
    ]);
  });

  it('updates of nodes that can neither violate a policy which fails open, nor leave a policy with startup taints', () => {
    const until = { key: 'network', effect: 'NoSchedule', ensure: 'UntilReady' } as const;
    const startup = (spec: Partial<TaintPolicySpec>) =>
      taintPolicy({
        failurePolicy: 'Fail',
        taints: [{ ...until, readyWhen: { conditions: [{ type: 'Ready' }] } }],
        ...spec,
      });
    const other = taintPolicy({ failurePolicy: 'Ignore', ...pool('b') }, 'q');
    const reporting = (policies: Policy[]) => selectorsOf(policies).filter((text) => text.startsWith('report '));
    expect(reporting([startup({}), other])).toEqual(['report pool=b']);
    expect(reporting([startup(pool('a')), other])).toEqual(['report pool in (a, b)']);
    expect(reporting([startup({ mode: 'Audit', failurePolicy: 'Ignore' }), other])).toEqual(['report ']);
  });

  it('DaemonSets in namespaces that no policy names', () => {
    const csi = tolerationPolicy({ mode: 'Audit', daemonSets: { namespaces: ['csi'] } }, 'q');
    const pattern = tolerationPolicy({ mode: 'Audit', daemonSets: { namespaces: ['kube-*'] } }, 'r');
    expect(selectorsOf([tolerationPolicy({}), csi])).toEqual([
      'tolerate kubernetes.io/metadata.name=kube-system',
      'report-tolerations kubernetes.io/metadata.name in (csi, kube-system)',
    ]);
    expect(selectorsOf([tolerationPolicy({}), pattern])).toEqual([
      'tolerate kubernetes.io/metadata.name=kube-system',
      'report-tolerations ',
    ]);
    const namespaces = Array.from({ length: 64 }, (_, index) => `ns-${index}`);
    const many = [0, 1, 2, 3, 4].map((policy) =>
      tolerationPolicy({ daemonSets: { namespaces: namespaces.map((name) => `${name}-${policy}`) } }, `p${policy}`),
    );
    expect(selectorsOf(many), 'and not of any number of them').toEqual(['tolerate ', 'report-tolerations ']);
  });
});

describe('which webhooks the policies need', () => {
  const needs = (policies: Policy[], options?: { audit?: boolean }) =>
    webhookEntries(policies, options).map(
      ({ name, phase, resource, operations, failurePolicy }) =>
        `${phase} ${name.replace('.taintkeeper.dev', '')}: ${operations.join(' and ')} ${resource}, ${failurePolicy}`,
    );

  it.each<[what: string, policies: Policy[], entries: string[]]>([
    ['none', [], []],
    [
      'a Deny policy: an entry of the annotation ends when its taint is set',
      [taintPolicy({})],
      [
        'mutate register: CREATE nodes, Ignore',
        'mutate restore: UPDATE nodes, Ignore',
        'validate protect: UPDATE nodes, Fail',
      ],
    ],
    [
      'a Deny policy that reads no annotation',
      [taintPolicy({ removalByAnnotation: 'Forbidden' })],
      [
        'mutate register: CREATE nodes, Ignore',
        'mutate restore: UPDATE nodes, Ignore',
        'validate protect: UPDATE nodes, Fail',
      ],
    ],
    [
      'a Deny policy that would rather miss a removal than refuse one',
      [taintPolicy({ failurePolicy: 'Ignore', removalByAnnotation: 'Forbidden' })],
      [
        'mutate register: CREATE nodes, Ignore',
        'mutate restore: UPDATE nodes, Ignore',
        'validate report: UPDATE nodes, Ignore',
      ],
    ],
    [
      'startup taints alone, which every user may remove',
      [taintPolicy({ taints: [{ ...present, ensure: 'AtRegistration' }] })],
      ['mutate register: CREATE nodes, Ignore', 'validate report-registration: CREATE nodes, Ignore'],
    ],
    [
      'a Restore policy',
      [taintPolicy({ mode: 'Restore' })],
      [
        'mutate register: CREATE nodes, Ignore',
        'mutate restore: UPDATE nodes, Ignore',
        'validate report: UPDATE nodes, Ignore',
      ],
    ],
    [
      'taints that only authorized pods may tolerate',
      [{ kind: 'TolerationRestriction', name: 'r', spec: { mode: 'Deny', taints: [UNPROTECTED] } }],
      [],
    ],
    [
      'a Deny and an Audit policy: what fails closed, and what does not',
      [taintPolicy({}), taintPolicy({ mode: 'Audit' }, 'q')],
      [
        'mutate register: CREATE nodes, Ignore',
        'mutate restore: UPDATE nodes, Ignore',
        'validate protect: UPDATE nodes, Fail',
        'validate report: UPDATE nodes, Ignore',
      ],
    ],
    ['an Audit policy', [taintPolicy({ mode: 'Audit' })], ['validate report: UPDATE nodes, Ignore']],
    [
      'a required taint',
      [taintPolicy({ mode: 'Restore', taints: [present] })],
      [
        'mutate register: CREATE nodes, Ignore',
        'mutate restore: UPDATE nodes, Ignore',
        'validate report: UPDATE nodes, Ignore',
        'validate report-registration: CREATE nodes, Ignore',
      ],
    ],
    [
      'a required taint of an Audit policy',
      [taintPolicy({ mode: 'Audit', taints: [present] })],
      ['validate report: UPDATE nodes, Ignore', 'validate report-registration: CREATE nodes, Ignore'],
    ],
    [
      'everybody is exempt',
      [taintPolicy({ exempt: { users: ['*'] }, removalByAnnotation: 'Forbidden' })],
      ['mutate register: CREATE nodes, Ignore', 'mutate restore: UPDATE nodes, Ignore'],
    ],
    [
      'a Mutate policy',
      [tolerationPolicy({})],
      [
        'mutate tolerate: CREATE and UPDATE daemonsets, Ignore',
        'validate report-tolerations: CREATE and UPDATE daemonsets, Ignore',
      ],
    ],
    [
      'tolerations in Audit',
      [tolerationPolicy({ mode: 'Audit' })],
      ['validate report-tolerations: CREATE and UPDATE daemonsets, Ignore'],
    ],
  ])('%s', (_what, policies, entries) => {
    expect(needs(policies)).toEqual(entries);
  });

  it('with --audit, every policy only reports', () => {
    expect(needs([taintPolicy({ taints: [present] }), tolerationPolicy({})], { audit: true })).toEqual([
      'validate report: UPDATE nodes, Ignore',
      'validate report-registration: CREATE nodes, Ignore',
      'validate report-tolerations: CREATE and UPDATE daemonsets, Ignore',
    ]);
  });
});

describe('the entries', () => {
  const policies = [
    taintPolicy(
      {
        nodeSelector: { matchLabels: { pool: 'a' } },
        taints: [{ key: 'b' }, { key: 'a' }],
      },
      'one',
    ),
    taintPolicy({ nodeSelector: { matchLabels: { pool: 'b' } }, exempt: { groups: ['x'] } }, 'two'),
    tolerationPolicy({}, 'three'),
  ];

  it('are the same in whatever order the policies come', () => {
    expect(webhookEntries(policies.toReversed())).toEqual(webhookEntries(policies));
  });

  it('ask about policies for the same nodes and the same users together', () => {
    const merged = [
      taintPolicy({ taints: [{ key: 'a' }] }, 'one'),
      taintPolicy({ taints: [{ key: 'b', effect: 'NoExecute' }] }, 'two'),
      taintPolicy({ taints: [{ key: 'c' }] }, 'three'),
    ];
    expect(expressionOf(webhookEntries(merged), 'protect', 'is-against-a-policy')).toContain(
      'removed.exists(t, t.key in ["a", "c"] || (t.key == "b" && t.effect == "NoExecute"))',
    );
  });

  it('never judge one request twice: report takes what protect does not', () => {
    const entries = webhookEntries([taintPolicy({}), taintPolicy({ mode: 'Audit' }, 'q')]);
    const protect = expressionOf(entries, 'protect', 'is-against-a-policy');
    const flat = (text: string | undefined) => text?.replace(/\s+/g, '');
    expect(flat(expressionOf(entries, 'report', 'is-not-for-protect'))).toBe(flat(`!(${protect})`));
  });

  it('nor leave one to a webhook that a selector keeps away', () => {
    const entries = webhookEntries([
      taintPolicy({ nodeSelector: { matchLabels: { pool: 'a' } } }),
      taintPolicy({ mode: 'Audit' }, 'q'),
    ]);
    expect(expressionOf(entries, 'report', 'is-not-for-protect')).toContain(
      '[oldLabels, labels].exists(l, "pool" in l && l["pool"] == "a")))',
    );
  });

  it.each<[key: string, condition: string | undefined, why: string]>([
    ['example.com/*', '!(t.key.endsWith("/agent-not-ready"))', 'only those that it could match are told apart'],
    ['karpenter.sh/*', '"karpenter.sh/unregistered"', 'and no other key of the domain'],
    ['example.com/a', undefined, 'an exact key is protected, whatever it is'],
  ])('a pattern, not an exact key, excludes taints that Kubernetes or agents set and remove: %s', (key, condition) => {
    const wildcard = [taintPolicy({ taints: [{ key }] })];
    const expression = expressionOf(webhookEntries(wildcard), 'protect', 'is-against-a-policy');
    expect(expression?.includes('lastingRemoved')).toBe(condition !== undefined);
    if (condition) expect(expression).toContain(condition);
  });
});

describe('a pattern', () => {
  const entriesOf = (spec: Partial<TaintPolicySpec>) =>
    webhookEntries([taintPolicy({ mode: 'Deny', taints: [{ key: 'example.com/*' }, { key: 'exact' }], ...spec })]);
  const text = (entries: readonly WebhookEntry[], name: string) =>
    entries
      .filter((entry) => entry.name === `${name}.taintkeeper.dev`)
      .flatMap(({ matchConditions }) => matchConditions.map(({ expression }) => expression))
      .join();

  it('protects at once, as an exact key does', () => {
    expect(text(entriesOf({}), 'protect')).toContain('example.com/');
    expect(text(entriesOf({ mode: 'Audit' }), 'report')).toContain('example.com/');
  });

  it('does not have the webhook called for taints that a node registers with, nor does an exact key', () => {
    expect(text(entriesOf({}), 'register')).toContain('taintkeeper.dev/allow-removal');
    expect(text(entriesOf({}), 'register')).not.toMatch(/example\.com\/|exact/);
  });

  it('is exact up to 512 taints', () => {
    const expressions = text(entriesOf({ taints: [{ key: 'example.com/*' }] }), 'protect');
    const sizes = [...expressions.matchAll(/size\(before\) > (\d+) \|\|/g)].map(([, size]) => Number(size));
    expect(sizes).toEqual([512]);
  });
});

describe('an update that adds taints to a node with the annotation', () => {
  it.each<[what: string, spec: Partial<TaintPolicySpec>, isCalled: boolean]>([
    ['a policy protects taints', {}, true],
    ['policies only set startup taints', { taints: [{ ...present, ensure: 'AtRegistration' }] }, false],
    ['policies only report', { mode: 'Audit' }, false],
  ])('is sent to mutation where an entry can end: %s', (_what, spec, isCalled) => {
    const entries = webhookEntries([taintPolicy(spec)]);
    const condition = expressionOf(entries, 'restore', 'concerns-a-policy') ?? '';
    expect(condition.includes('allowRemoval != "" && size(added) > 0')).toBe(isCalled);
  });
});

const UNTIL_READY: TaintRule = {
  ...{ key: 'out', effect: 'NoSchedule', ensure: 'UntilReady' },
  readyWhen: { conditions: [{ type: 'X' }] },
};

it.each<[what: string, spec: Partial<TaintPolicySpec>, isCalled: boolean]>([
  ['a policy protects taints', {}, true],
  ['entries keep off its startup taints', { taints: [UNTIL_READY] }, true],
  ['another client removes its startup taints', { taints: [{ ...present, ensure: 'AtRegistration' }] }, false],
  ['it only reports', { mode: 'Audit', taints: [UNTIL_READY] }, false],
])('a node that registers with the annotation is sent to mutation where entries count: %s', (_what, spec, isCalled) => {
  const condition = expressionOf(webhookEntries([taintPolicy(spec)]), 'register', 'concerns-a-policy') ?? '';
  expect(condition.includes('taintkeeper.dev/allow-removal')).toBe(isCalled);
});

describe('more policies than one expression holds', () => {
  const many = (count: number) =>
    Array.from({ length: count }, (_, index) =>
      taintPolicy(
        {
          nodeSelector: { matchLabels: { pool: `pool-${index}` } },
          taints: [{ key: `example.com/dedicated-${index}`, effect: 'NoSchedule', ensure: 'Always' }],
          failurePolicy: 'Fail',
        },
        `p${index}`,
      ),
    );
  const manyTolerations = (count: number) =>
    Array.from({ length: count }, (_, index) =>
      tolerationPolicy(
        { daemonSets: { namespaces: [`ns-${index}`], names: ['a*', '*b'], selector: { matchLabels: { app: 'x' } } } },
        `p${index}`,
      ),
    );

  it.each([1, 20, 100])('%d fit', (count) => {
    expect(webhookEntries([...many(count), ...manyTolerations(count)]).filter(({ widened }) => widened)).toEqual([]);
  });

  it('of 150, every change of a label that they ask for is asked about', () => {
    const wide = webhookEntries([...many(150), ...manyTolerations(100)]).filter(({ widened }) => widened);
    expect(wide.map(({ name, widened }) => `${name}: ${widened}`)).toEqual([
      'restore.taintkeeper.dev: too many policies for one expression: every change of a label that they ask for matches',
    ]);
    expect(wide[0]?.matchConditions[0]?.expression.replace(/\s+/g, ' ')).toContain(
      '["pool"].exists(k, k in labels ? !(k in oldLabels) || labels[k] != oldLabels[k] : k in oldLabels)',
    );
  });

  it.each([250, 1_000])(
    '%d make the conditions wider, which the entries say, and never too long',
    (count) => {
      const entries = webhookEntries([...many(count), ...manyTolerations(count)]);
      expect(entries).toHaveLength(6);
      expect(entries.filter(({ widened }) => widened).length).toBeGreaterThan(0);
      for (const { matchConditions } of entries) {
        for (const { expression } of matchConditions) expect(expression.length).toBeLessThan(60_000);
      }
    },
    30_000,
  );

  it('the names of 3,000 taints that a controller sets and removes do not fit either: their families count', () => {
    const policies = Array.from({ length: 3_000 }, (_, index) =>
      taintPolicy({ taints: [{ key: `readiness.k8s.io/some-taint-${index}` }] }, `p${index}`),
    );
    const expression = expressionOf(webhookEntries(policies), 'protect', 'is-against-a-policy');
    expect(expression).not.toContain('readiness.k8s.io/');
    expect(expression).toContain('"nidhogg.uswitch.com/"');
  });
});

describe('the built-in policies', async () => {
  const entries = webhookEntries(parsePolicies(await readBuiltinPolicies()));

  it('a Deny policy without selector and exemptions', () => {
    expect(expressionOf(entries, 'protect', 'is-against-a-policy')).toMatchInlineSnapshot(`
      "[has(oldObject.spec) && has(oldObject.spec.taints) ? oldObject.spec.taints : []].exists(before,
      [has(object.spec) && has(object.spec.taints) ? object.spec.taints : []].exists(after,
      before != after &&
      (
        size(before) > 512 || size(after) > 512
        ? size(before) + size(after) > 28000 ||
          before.filter(t, t.key in ["node-role.kubernetes.io/control-plane", "node-role.kubernetes.io/master"]) !=
          after.filter(t, t.key in ["node-role.kubernetes.io/control-plane", "node-role.kubernetes.io/master"])
        : [after.map(t, t.key + "=" + (has(t.value) ? t.value : "") + ":" + t.effect)].exists(afterNames,
          [before.filter(t, !(t.key + "=" + (has(t.value) ? t.value : "") + ":" + t.effect in afterNames))].exists(removed,
          removed.exists(t, t.key in ["node-role.kubernetes.io/control-plane", "node-role.kubernetes.io/master"])))
      )))"
    `);
  });

  it('have two webhooks for updates of nodes', () => {
    const updates = entries.filter(({ resource, operations }) => resource === 'nodes' && operations.includes('UPDATE'));
    expect(updates.map(({ name }) => name)).toEqual(['restore.taintkeeper.dev', 'protect.taintkeeper.dev']);
  });

  it('what has to be put back, and which entries of the annotation end', () => {
    expect(expressionOf(entries, 'restore', 'concerns-a-policy')).toMatchInlineSnapshot(`
      "[has(oldObject.spec) && has(oldObject.spec.taints) ? oldObject.spec.taints : []].exists(before,
      [has(object.spec) && has(object.spec.taints) ? object.spec.taints : []].exists(after,
      [has(object.metadata.annotations) && "taintkeeper.dev/allow-removal" in object.metadata.annotations
        ? object.metadata.annotations["taintkeeper.dev/allow-removal"] : ""].exists(allowRemoval,
      [has(request.userInfo.username) ? request.userInfo.username : ""].exists(user,
      [has(request.userInfo.groups) ? request.userInfo.groups : []].exists(groups,
      before != after &&
      (
        size(before) > 512 || size(after) > 512
        ? size(before) + size(after) > 28000 ||
          before.filter(t, t.key in ["node-role.kubernetes.io/control-plane", "node-role.kubernetes.io/master"]) !=
          after.filter(t, t.key in ["node-role.kubernetes.io/control-plane", "node-role.kubernetes.io/master"])
        : [before.map(t, t.key + "=" + (has(t.value) ? t.value : "") + ":" + t.effect)].exists(beforeNames,
          [after.filter(t, !(t.key + "=" + (has(t.value) ? t.value : "") + ":" + t.effect in beforeNames))].exists(added,
          !(user.startsWith("system:node:") && "system:nodes" in groups) && allowRemoval != "" && size(added) > 0))
      ))))))"
    `);
  });

  it('a node that registers with removals allowed', () => {
    expect(expressionOf(entries, 'register', 'concerns-a-policy')).toMatchInlineSnapshot(`
      "[has(object.spec) && has(object.spec.taints) ? object.spec.taints : []].exists(taints,
      size(taints) > 512 ||
      (has(object.metadata.annotations) && "taintkeeper.dev/allow-removal" in object.metadata.annotations))"
    `);
  });

  it('tolerations of DaemonSets', () => {
    expect(expressionOf(entries, 'tolerate', 'lacks-toleration')).toMatchInlineSnapshot(`
      "[has(object.spec.template.spec.tolerations) ? object.spec.template.spec.tolerations : []].exists(tolerations,
      [has(object.metadata.name) && object.metadata.name != "" ? object.metadata.name :
        has(request.name) && request.name != "" ? request.name :
        has(object.metadata.generateName) ? object.metadata.generateName : ""].exists(name,
      !has(object.metadata.deletionTimestamp) &&
      (!has(object.metadata.annotations) || !("taintkeeper.dev/ignore" in object.metadata.annotations) ||
        object.metadata.annotations["taintkeeper.dev/ignore"] == "false") &&
      (
        size(tolerations) > 512 ||
        (
          request.namespace in [
            "antrea-system",
            "calico-system",
            "cilium",
            "kube-flannel",
            "kube-ovn",
            "kube-router",
            "kube-system",
            "multus",
            "ovn-kubernetes",
            "tigera-operator",
            "weave"
          ] &&
          (
            name.contains("flannel") ||
            name.contains("multus") ||
            name.startsWith("antrea-agent") ||
            name.startsWith("aws-node") ||
            name.startsWith("azure-cni") ||
            name.startsWith("calico-node") ||
            name.startsWith("canal") ||
            name.startsWith("cilium") ||
            name.startsWith("kindnet") ||
            name.startsWith("kube-ovn-") ||
            name.startsWith("kube-router") ||
            name.startsWith("ovnkube-") ||
            name.startsWith("ovs-ovn") ||
            name.startsWith("weave-net")
          ) &&
          [
            {"key": "node-role.kubernetes.io/control-plane", "value": "", "effect": "NoSchedule"},
            {"key": "node-role.kubernetes.io/master", "value": "", "effect": "NoSchedule"}
          ].exists(required,
            !tolerations.exists(t,
              (!has(t.effect) || t.effect in ["", required.effect]) &&
              (!has(t.key) || t.key in ["", required.key]) &&
              (!has(t.operator) || t.operator in ["", "Equal"]
                ? has(t.key) && t.key != "" && (has(t.value) ? t.value : "") == required.value
                : t.operator == "Exists"))
          )
        )
      )))"
    `);
  });
});
