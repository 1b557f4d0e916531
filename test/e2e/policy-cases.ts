import type { PolicyKind } from '../../src/policy/policy.ts';

/** A spec and what is to be said of it, by the program and by the API server alike. */
export interface PolicyCase {
  readonly why: string;
  readonly kind: PolicyKind;
  readonly spec: object;
  /** The field that is at fault; without it, the spec is valid. */
  readonly field?: string;
  /** The words that both use. */
  readonly words?: string;
}

const DOMAIN_OF_253 = Array.from({ length: 127 }, () => 'a').join('.');
const KEY_OF_317 = `${DOMAIN_OF_253}/${'n'.repeat(63)}`;
const KEY_WITH_LONG_DOMAIN = `a${DOMAIN_OF_253}/n`;
const NAME_OF_253 = 'n'.repeat(253);
const VALUE_OF_63 = 'v'.repeat(63);
const times = <T>(count: number, item: (index: number) => T): T[] => Array.from({ length: count }, (_, i) => item(i));

const selectorAtItsBounds = {
  matchLabels: Object.fromEntries(times(64, (i) => [`${KEY_OF_317.slice(0, -2)}${10 + i}`, VALUE_OF_63])),
  matchExpressions: times(64, () => ({ key: KEY_OF_317, operator: 'In', values: times(64, () => VALUE_OF_63) })),
};

const EVERY_PART_OF_A_SELECTOR = {
  matchLabels: { pool: 'gpu', 'a.b/c': '' },
  matchExpressions: [
    { key: 'a.b/c', operator: 'In', values: ['x', ''] },
    { key: 'a', operator: 'Exists', values: [] },
  ],
};

const taint = (why: string, spec: object, field?: string, words?: string): PolicyCase => ({
  why,
  kind: 'TaintPolicy',
  spec: { mode: 'Deny', taints: [{ key: 'dedicated' }], ...spec },
  ...(field === undefined ? {} : { field }),
  ...(words === undefined ? {} : { words }),
});

const toleration = (why: string, spec: object, field?: string, words?: string): PolicyCase => ({
  why,
  kind: 'TolerationPolicy',
  spec: { mode: 'Audit', daemonSets: { namespaces: ['kube-system'] }, ...spec },
  ...(field === undefined ? {} : { field }),
  ...(words === undefined ? {} : { words }),
});

const recovery = (why: string, spec: object, field?: string, words?: string): PolicyCase => ({
  why,
  kind: 'RecoveryPolicy',
  spec: { daemonSets: { namespaces: ['kube-system'] }, ...spec },
  ...(field === undefined ? {} : { field }),
  ...(words === undefined ? {} : { words }),
});

const restriction = (why: string, spec: object, field?: string, words?: string): PolicyCase => ({
  why,
  kind: 'TolerationRestriction',
  spec: { mode: 'Audit', taints: [{ key: 'dedicated' }], ...spec },
  ...(field === undefined ? {} : { field }),
  ...(words === undefined ? {} : { words }),
});

const present = (more: object) => ({ key: 'a', effect: 'NoSchedule', ensure: 'Always', ...more });

const CILIUM = { namespace: 'kube-system', name: 'cilium' };
const UNTIL_READY = {
  key: 'a',
  effect: 'NoSchedule',
  ensure: 'UntilReady',
  readyWhen: { daemonSets: [CILIUM] },
};

const EVERY_PART = {
  allDaemonSets: { namespaces: ['kube-system', 'a'], except: [CILIUM, { namespace: 'a', name: 'b' }] },
  daemonSets: [CILIUM, { namespace: 'gpu-operator', name: 'driver' }],
  conditions: [
    { type: 'example.com/NetworkReady', status: 'True' },
    { type: 'KernelDeadlock', status: 'False' },
    { type: 'A' },
  ],
  csiDrivers: [{ name: 'ebs.csi.aws.com' }, { name: 'csi.example.com' }],
  allocatable: [{ resource: 'nvidia.com/gpu' }, { resource: 'hugepages-2Mi' }],
  progressDeadlineSeconds: 60,
  afterDeadline: 'Remove',
};

/** Each list of readyWhen, with that many items. */
const LISTS_OF_READY_WHEN: Readonly<Record<string, (length: number) => object>> = {
  daemonSets: (length) => ({ daemonSets: numbered(length, (name) => ({ namespace: 'a', name })) }),
  conditions: (length) => ({ conditions: numbered(length, (type) => ({ type })) }),
  csiDrivers: (length) => ({ csiDrivers: numbered(length, (name) => ({ name })) }),
  allocatable: (length) => ({ allocatable: numbered(length, (name) => ({ resource: `example.com/${name}` })) }),
  'allDaemonSets.namespaces': (length) => ({ allDaemonSets: { namespaces: numbered(length, (name) => name) } }),
  'allDaemonSets.except': (length) => ({
    allDaemonSets: { except: numbered(length, (name) => ({ namespace: 'a', name })) },
  }),
};

function numbered<Item>(length: number, item: (name: string) => Item): Item[] {
  return Array.from({ length }, (_, index) => item(`a${index}`));
}

export const POLICY_CASES: readonly PolicyCase[] = [
  taint('the smallest TaintPolicy', {}),
  taint('every field of a TaintPolicy', {
    mode: 'Restore',
    nodeSelector: EVERY_PART_OF_A_SELECTOR,
    taints: [
      { key: 'dedicated', value: 'gpu', effect: 'NoSchedule', ensure: 'Always' },
      { key: 'dedicated', effect: 'NoExecute', ensure: 'Always' },
      { key: 'example.com/*' },
      { key: 'example.org/*', value: '', except: ['example.org/a', 'example.org/b.c'] },
      { key: 'a', effect: 'NoSchedule', ensure: 'AtRegistration' },
    ],
    exempt: { users: ['system:serviceaccount:kube-system:*'], groups: ['system:masters', 'größte Gruppe'] },
    removalByAnnotation: 'Allowed',
    failurePolicy: 'Fail',
    backstop: 'Native',
  }),
  taint('every list and text at its bounds', {
    nodeSelector: selectorAtItsBounds,
    taints: times(64, () => ({ key: KEY_OF_317, value: VALUE_OF_63, effect: 'NoExecute', ensure: 'Always' })),
    exempt: { users: times(64, () => NAME_OF_253), groups: times(64, () => NAME_OF_253) },
  }),
  taint('as many exceptions as there can be', {
    taints: times(64, () => ({ key: `${DOMAIN_OF_253}/*`, except: times(32, () => KEY_OF_317) })),
  }),
  taint('a taint until DaemonSets are ready', {
    taints: [{ ...UNTIL_READY, readyWhen: { daemonSets: [CILIUM], progressDeadlineSeconds: 60 } }],
    nodeSelector: { matchLabels: { a: 'b' } },
  }),
  taint('a taint until every part of readyWhen holds', {
    taints: [{ ...UNTIL_READY, readyWhen: EVERY_PART }],
  }),
  taint(
    'a taint that waits for a condition whose type has a domain that is too long',
    { taints: [{ ...UNTIL_READY, readyWhen: { conditions: [{ type: `${'a'.repeat(254)}/b` }] } }] },
    'spec.taints[0].readyWhen.conditions[0].type',
  ),
  taint(
    'a taint that waits for one condition with two statuses',
    { taints: [{ ...UNTIL_READY, readyWhen: { conditions: [{ type: 'A' }, { type: 'A', status: 'False' }] } }] },
    'spec.taints[0].readyWhen.conditions[1]',
  ),
  taint(
    'a taint that waits for another status than there is',
    { taints: [{ ...UNTIL_READY, readyWhen: { conditions: [{ type: 'A', status: 'Yes' }] } }] },
    'spec.taints[0].readyWhen.conditions[0].status',
  ),
  taint('a taint that waits for all DaemonSets everywhere', {
    taints: [{ ...UNTIL_READY, readyWhen: { allDaemonSets: {} } }],
  }),
  taint(
    'a taint that waits for all DaemonSets of a namespace twice',
    { taints: [{ ...UNTIL_READY, readyWhen: { allDaemonSets: { namespaces: ['a', 'a'] } } }] },
    'spec.taints[0].readyWhen.allDaemonSets.namespaces',
  ),
  taint(
    'a taint that waits for all DaemonSets of no namespace',
    { taints: [{ ...UNTIL_READY, readyWhen: { allDaemonSets: { namespaces: [] } } }] },
    'spec.taints[0].readyWhen.allDaemonSets.namespaces',
  ),
  taint(
    'a taint that waits for all DaemonSets but one, twice',
    { taints: [{ ...UNTIL_READY, readyWhen: { allDaemonSets: { except: [CILIUM, CILIUM] } } }] },
    'spec.taints[0].readyWhen.allDaemonSets.except[1]',
  ),
  taint(
    'a taint that does something else after the deadline',
    { taints: [{ ...UNTIL_READY, readyWhen: { ...EVERY_PART, afterDeadline: 'Delete' } }] },
    'spec.taints[0].readyWhen.afterDeadline',
  ),
  taint(
    'a taint that waits for a CSI driver whose name is none',
    { taints: [{ ...UNTIL_READY, readyWhen: { csiDrivers: [{ name: 'EBS' }] } }] },
    'spec.taints[0].readyWhen.csiDrivers[0].name',
  ),
  taint(
    'a taint that waits for a resource that every node has',
    { taints: [{ ...UNTIL_READY, readyWhen: { allocatable: [{ resource: 'cpu' }] } }] },
    'spec.taints[0].readyWhen.allocatable[0].resource',
  ),
  ...Object.entries(LISTS_OF_READY_WHEN).flatMap(([list, readyWhen]) => [
    taint(`as many items of readyWhen.${list} as there can be`, {
      taints: [{ ...UNTIL_READY, readyWhen: readyWhen(16) }],
    }),
    taint(
      `one item of readyWhen.${list} too many`,
      { taints: [{ ...UNTIL_READY, readyWhen: readyWhen(17) }] },
      `spec.taints[0].readyWhen.${list}`,
    ),
  ]),
  taint('a taint that is set again after a reboot', {
    taints: [
      {
        ...UNTIL_READY,
        readyWhen: { daemonSets: [CILIUM], allocatable: [{ resource: 'nvidia.com/gpu' }] },
        afterReboot: 'SetAgain',
      },
      { ...UNTIL_READY, key: 'b', readyWhen: EVERY_PART, afterReboot: 'Ignore' },
    ],
  }),
  taint(
    'a taint that is set again after a reboot, by a condition',
    {
      taints: [
        {
          ...UNTIL_READY,
          readyWhen: { daemonSets: [CILIUM], conditions: [{ type: 'A' }] },
          afterReboot: 'SetAgain',
        },
      ],
    },
    'spec.taints[0].afterReboot',
    'afterReboot: SetAgain is not allowed with readyWhen.conditions or readyWhen.csiDrivers: after a reboot, these are those of the earlier boot, and no field says so',
  ),
  taint(
    'a taint that is set again after a reboot, by a CSI driver',
    {
      taints: [
        {
          ...UNTIL_READY,
          readyWhen: { daemonSets: [CILIUM], csiDrivers: [{ name: 'a.com' }] },
          afterReboot: 'SetAgain',
        },
      ],
    },
    'spec.taints[0].afterReboot',
    'afterReboot: SetAgain is not allowed with readyWhen.conditions or readyWhen.csiDrivers: after a reboot, these are those of the earlier boot, and no field says so',
  ),
  taint(
    'a taint that is set again after a reboot, by whatever DaemonSets there are',
    { taints: [{ ...UNTIL_READY, readyWhen: { allDaemonSets: { namespaces: ['a'] } }, afterReboot: 'SetAgain' }] },
    'spec.taints[0].afterReboot',
    'afterReboot: SetAgain needs readyWhen.daemonSets or readyWhen.allocatable',
  ),
  taint(
    'a required taint that is set again after a reboot',
    { taints: [present({ afterReboot: 'SetAgain' })] },
    'spec.taints[0].afterReboot',
    'afterReboot is only for ensure: UntilReady',
  ),
  taint(
    'a taint that does something unknown after a reboot',
    { taints: [{ ...UNTIL_READY, afterReboot: 'Drain' }] },
    'spec.taints[0].afterReboot',
  ),
  taint(
    'a taint until DaemonSets are ready that evicts',
    { taints: [{ ...UNTIL_READY, effect: 'NoExecute' }] },
    'spec.taints[0].effect',
    'ensure: UntilReady is only for effect NoSchedule',
  ),
  taint(
    'a taint until DaemonSets are ready, of the life cycle of nodes',
    { taints: [{ ...UNTIL_READY, key: 'node.kubernetes.io/not-ready' }] },
    'spec.taints[0].key',
  ),
  taint(
    'a taint until nothing is ready',
    { taints: [{ key: 'a', effect: 'NoSchedule', ensure: 'UntilReady' }] },
    'spec.taints[0].readyWhen',
    'ensure: UntilReady needs readyWhen, and no other rule has it',
  ),
  taint(
    'a required taint with DaemonSets to wait for',
    { taints: [{ ...UNTIL_READY, ensure: 'Always' }] },
    'spec.taints[0].readyWhen',
    'ensure: UntilReady needs readyWhen, and no other rule has it',
  ),
  taint(
    'a taint that waits for no DaemonSet',
    { taints: [{ ...UNTIL_READY, readyWhen: { daemonSets: [] } }] },
    'spec.taints[0].readyWhen.daemonSets',
  ),
  taint(
    'a taint that waits for nothing but a deadline',
    { taints: [{ ...UNTIL_READY, readyWhen: { progressDeadlineSeconds: 60 } }] },
    'spec.taints[0].readyWhen',
    'readyWhen needs at least one of daemonSets, allDaemonSets, conditions, csiDrivers, allocatable',
  ),
  taint(
    'a taint that waits for one DaemonSet twice',
    { taints: [{ ...UNTIL_READY, readyWhen: { daemonSets: [CILIUM, { ...CILIUM, name: 'b' }, CILIUM] } }] },
    'spec.taints[0].readyWhen.daemonSets[2]',
  ),
  taint(
    'no removal by annotation of a required taint, with exempt users',
    { taints: [present({})], removalByAnnotation: 'Forbidden', exempt: { users: ['root'] } },
    'spec.removalByAnnotation',
    'with ensure: Always and exempt, Forbidden is not allowed: no entry of the annotation could keep a taint off that an exempt user removes, and taintkeeper would set it again',
  ),
  taint(
    'the same, with exempt groups',
    { taints: [{ key: 'x' }, present({})], removalByAnnotation: 'Forbidden', exempt: { groups: ['root'] } },
    'spec.removalByAnnotation',
    'with ensure: Always and exempt, Forbidden is not allowed: no entry of the annotation could keep a taint off that an exempt user removes, and taintkeeper would set it again',
  ),
  taint('no removal by annotation of a required taint, without exempt users', {
    taints: [present({})],
    removalByAnnotation: 'Forbidden',
    exempt: { users: [], groups: [] },
  }),
  taint('no removal by annotation of a protected taint, with exempt users', {
    removalByAnnotation: 'Forbidden',
    exempt: { users: ['root'] },
  }),
  taint('no exceptions', { taints: [{ key: 'a.io/*', except: [] }] }, 'spec.taints[0].except'),
  taint(
    'too many exceptions',
    { taints: [{ key: 'a.io/*', except: times(33, () => 'a.io/a') }] },
    'spec.taints[0].except',
  ),
  ...[
    ['a', 'b'],
    ['a.io/*', 'b.io/a'],
    ['a.io/*', 'a'],
    ['a.io/*', 'axio/a'],
  ].map(([key, except]) =>
    taint(
      `an exception, ${except}, that ${key} does not cover`,
      { taints: [{ key, except: [except] }] },
      'spec.taints[0].except',
      'except is only for a key DOMAIN/*, and lists keys of that domain',
    ),
  ),
  taint('exceptions of a domain', { taints: [{ key: 'a.io/*', except: ['a.io/b', 'a.io/c.d'] }] }),
  ...['a.io/b/c', 'a.io/*', 'a.io/b*'].map((except) =>
    taint(
      `an exception that is no key: ${except}`,
      { taints: [{ key: 'a.io/*', except: ['a.io/a', except] }] },
      'spec.taints[0].except[1]',
    ),
  ),
  ...['*', '**'].map((key) =>
    taint(
      `everything: ${key}`,
      { taints: [{ key }] },
      'spec.taints[0].key',
      'a key "*" is not allowed: it would keep the taints by which unknown agents mark a node that starts, so that new nodes stay unusable; name each key, or a domain as DOMAIN/*',
    ),
  ),
  ...['a*', '*/a', 'a.*/b', 'a.io/b*', 'A.io/*', 'a/*/b', `${DOMAIN_OF_253}a/*`].map((key) =>
    taint(
      `a star elsewhere than for the name: ${key.slice(0, 20)}`,
      { taints: [{ key }] },
      'spec.taints[0].key',
      'expected a taint key, NAME or DOMAIN/NAME, or DOMAIN/* for all keys of a domain',
    ),
  ),
  taint('an Audit policy that says what holds anyway', { mode: 'Audit', failurePolicy: 'Ignore' }),
  taint('an exact key of a taint that an agent sets and removes', {
    taints: [{ key: 'node.cilium.io/agent-not-ready' }],
  }),
  taint('an empty selector', { nodeSelector: {}, exempt: {} }),
  taint('a mode of the other kind', { mode: 'Mutate' }, 'spec.mode'),
  taint('no taints', { taints: [] }, 'spec.taints'),
  taint('too many taints', { taints: times(65, () => ({ key: 'a' })) }, 'spec.taints'),
  taint('a null among the taints', { taints: [null] }, 'spec.taints[0]'),
  taint('a null among users', { exempt: { users: [null] } }, 'spec.exempt.users[0]'),
  taint('taints that are null', { taints: null }, 'spec.taints'),
  taint('a mode that is null', { mode: null }, 'spec.mode'),
  taint('an unknown field', { nodeSelectors: {} }, 'spec.nodeSelectors'),
  taint('an unknown field of a taint', { taints: [{ key: 'a', efect: 'NoSchedule' }] }, 'spec.taints[0].efect'),
  taint('a key with blanks', { taints: [{ key: 'a b' }] }, 'spec.taints[0].key'),
  taint('a key of 318 characters', { taints: [{ key: `${KEY_OF_317}n` }] }, 'spec.taints[0].key'),
  taint(
    'two slashes',
    { taints: [{ key: 'a/b/c' }] },
    'spec.taints[0].key',
    'expected a taint key, NAME or DOMAIN/NAME, or DOMAIN/* for all keys of a domain',
  ),
  taint(
    'a long domain',
    { taints: [{ key: KEY_WITH_LONG_DOMAIN }] },
    'spec.taints[0].key',
    'expected a taint key, NAME or DOMAIN/NAME, or DOMAIN/* for all keys of a domain',
  ),
  taint('a value with a slash', { taints: [{ key: 'a', value: 'b/c' }] }, 'spec.taints[0].value'),
  taint('an effect of nobody', { taints: [{ key: 'a', effect: 'NoStart' }] }, 'spec.taints[0].effect'),
  taint(
    'a required pattern',
    {
      taints: [{ key: 'x' }, { key: 'a.io/*', effect: 'NoSchedule', ensure: 'Always' }],
    },
    'spec.taints[1].key',
    'ensure needs a key without "*", because taintkeeper sets the taint',
  ),
  ...[{ key: 'node.kubernetes.io/unschedulable' }, present({ key: 'node.kubernetes.io/not-ready' })].map((rule) =>
    taint(
      `a taint of the node life cycle: ${JSON.stringify(rule)}`,
      { taints: [{ key: 'a' }, rule] },
      'spec.taints[1].key',
      'Kubernetes sets and removes this taint during the life of a node, so a policy must not keep it: kubectl uncordon, for example, would never work',
    ),
  ),
  taint('a taint that an administrator sets', { taints: [{ key: 'node.kubernetes.io/out-of-service' }] }),
  taint(
    'a required taint that an administrator sets',
    { taints: [present({ key: 'node.kubernetes.io/out-of-service' })] },
    'spec.taints[0].ensure',
    'ensure is not allowed for this taint: Kubernetes deletes the pods of a node that carries it by force',
  ),
  taint('a required taint of a role', { taints: [present({ key: 'node-role.kubernetes.io/control-plane' })] }),
  taint(
    'a required taint without effect',
    { taints: [{ key: 'a', ensure: 'Always' }] },
    'spec.taints[0]',
    'ensure needs an effect: add NoSchedule, PreferNoSchedule or NoExecute',
  ),
  taint('an empty user', { exempt: { users: [''] } }, 'spec.exempt.users[0]'),
  taint('a user of 254 characters', { exempt: { users: [`${NAME_OF_253}n`] } }, 'spec.exempt.users[0]'),
  taint('a single user, not in a list', { exempt: { users: 'admin' } }, 'spec.exempt.users'),
  taint('an unknown value', { removalByAnnotation: 'Always' }, 'spec.removalByAnnotation'),
  taint('a failurePolicy of nobody', { failurePolicy: 'Retry' }, 'spec.failurePolicy'),
  taint('a backstop of nobody', { backstop: 'Webhook' }, 'spec.backstop'),
  taint(
    'an Audit policy that would refuse',
    { mode: 'Audit', failurePolicy: 'Fail' },
    'spec.failurePolicy',
    'an Audit policy refuses nothing: leave failurePolicy out',
  ),
  taint(
    'a label that no node can have',
    { nodeSelector: { matchLabels: { pool: 'a', 'po ol': 'a' } } },
    'spec.nodeSelector.matchLabels',
    'expected a label key, NAME or DOMAIN/NAME',
  ),
  taint(
    'a label with a long domain',
    { nodeSelector: { matchLabels: { [KEY_WITH_LONG_DOMAIN]: 'a' } } },
    'spec.nodeSelector.matchLabels',
    'expected a label key, NAME or DOMAIN/NAME',
  ),
  taint(
    'a label value with blanks',
    { nodeSelector: { matchLabels: { pool: 'a b' } } },
    'spec.nodeSelector.matchLabels',
  ),
  taint('a label that is a number', { nodeSelector: { matchLabels: { pool: 1 } } }, 'spec.nodeSelector.matchLabels'),
  taint(
    'too many labels',
    { nodeSelector: { matchLabels: Object.fromEntries(times(65, (i) => [`a${i}`, 'x'])) } },
    'spec.nodeSelector.matchLabels',
  ),
  taint(
    'In without values',
    { nodeSelector: { matchExpressions: [{ key: 'a', operator: 'In' }] } },
    'spec.nodeSelector.matchExpressions[0]',
    'operators In and NotIn need values',
  ),
  taint(
    'NotIn with an empty list',
    { nodeSelector: { matchExpressions: [{ key: 'a', operator: 'NotIn', values: [] }] } },
    'spec.nodeSelector.matchExpressions[0]',
    'operators In and NotIn need values',
  ),
  taint(
    'Exists with values',
    { nodeSelector: { matchExpressions: [{ key: 'a', operator: 'Exists', values: ['x'] }] } },
    'spec.nodeSelector.matchExpressions[0].values',
    'operators Exists and DoesNotExist take no values',
  ),
  taint(
    'an expression with a long domain',
    { nodeSelector: { matchExpressions: [{ key: KEY_WITH_LONG_DOMAIN, operator: 'Exists' }] } },
    'spec.nodeSelector.matchExpressions[0].key',
    'expected at most 253 characters before the slash',
  ),
  taint(
    'an operator of field selectors',
    { nodeSelector: { matchExpressions: [{ key: 'a', operator: 'Equals', values: ['x'] }] } },
    'spec.nodeSelector.matchExpressions[0].operator',
  ),

  toleration('the smallest TolerationPolicy', {}),
  toleration('every field of a TolerationPolicy', {
    mode: 'Mutate',
    daemonSets: { namespaces: ['*', 'kube-system'], names: ['cilium*'], selector: EVERY_PART_OF_A_SELECTOR },
    tolerations: [
      { operator: 'Exists' },
      { key: 'a', operator: 'Exists', value: '' },
      { key: 'a', value: 'b', effect: 'NoExecute', tolerationSeconds: 30 },
      { key: 'a', effect: 'NoExecute', tolerationSeconds: -1 },
    ],
    existing: 'Report',
    backstop: 'Native',
  }),
  toleration('every list and text at its bounds', {
    daemonSets: {
      namespaces: times(64, () => VALUE_OF_63),
      names: times(64, () => NAME_OF_253),
      selector: selectorAtItsBounds,
    },
    tolerations: times(64, () => ({
      key: KEY_OF_317,
      operator: 'Equal',
      value: VALUE_OF_63,
      effect: 'NoExecute',
      tolerationSeconds: Number.MAX_SAFE_INTEGER,
    })),
  }),
  toleration('no namespaces', { daemonSets: { namespaces: [] } }, 'spec.daemonSets.namespaces'),
  toleration('a long namespace', { daemonSets: { namespaces: ['n'.repeat(64)] } }, 'spec.daemonSets.namespaces[0]'),
  toleration('no tolerations', { tolerations: [] }, 'spec.tolerations'),
  toleration(
    'a fraction of a second',
    { tolerations: [{ key: 'a', tolerationSeconds: 1.5 }] },
    'spec.tolerations[0].tolerationSeconds',
  ),
  toleration(
    'more seconds than can be read exactly',
    { tolerations: [{ key: 'a', effect: 'NoExecute', tolerationSeconds: 2 ** 53 }] },
    'spec.tolerations[0].tolerationSeconds',
  ),
  toleration(
    'neither key nor Exists',
    { tolerations: [{ effect: 'NoSchedule' }] },
    'spec.tolerations[0]',
    'a toleration without a key needs operator: Exists',
  ),
  toleration(
    'Exists with a value',
    { tolerations: [{ key: 'a', operator: 'Exists', value: 'x' }] },
    'spec.tolerations[0].value',
    'a toleration with operator Exists takes no value',
  ),
  toleration(
    'seconds without NoExecute',
    { tolerations: [{ key: 'a', effect: 'NoSchedule', tolerationSeconds: 3 }] },
    'spec.tolerations[0].tolerationSeconds',
    'tolerationSeconds needs effect: NoExecute',
  ),
  toleration(
    'a toleration with a long domain',
    { tolerations: [{ key: KEY_WITH_LONG_DOMAIN }] },
    'spec.tolerations[0].key',
    'expected at most 253 characters before the slash',
  ),
  toleration('a toleration of a pattern', { tolerations: [{ key: 'a*' }] }, 'spec.tolerations[0].key'),
  toleration(
    'an operator to come',
    { tolerations: [{ key: 'a', operator: 'Gt', value: '1' }] },
    'spec.tolerations[0].operator',
  ),
  toleration('a backstop of nobody', { backstop: 'Webhook' }, 'spec.backstop'),
  toleration('a change of nobody', { mode: 'Mutate', existing: 'Recreate' }, 'spec.existing'),
  toleration('a change of what runs already', { mode: 'Mutate', existing: 'Patch' }),
  toleration(
    'a change of what runs already, in mode Audit',
    { existing: 'Patch' },
    'spec.existing',
    'an Audit policy changes nothing: use Report, or mode Mutate',
  ),
  restriction('the smallest TolerationRestriction', {}),
  restriction('every field of a TolerationRestriction', {
    mode: 'Deny',
    taints: [{ key: 'dedicated', value: 'gpu', effect: 'NoSchedule' }, { key: 'example.com/a' }],
    exceptNamespaces: ['kube-system', 'team-*'],
  }),
  restriction('no exceptions', { exceptNamespaces: [] }),
  restriction('every list and text of a TolerationRestriction at its bounds', {
    taints: times(12, () => ({ key: KEY_OF_317, value: VALUE_OF_63, effect: 'NoExecute' })),
    exceptNamespaces: times(64, () => 'n'.repeat(63)),
  }),
  restriction('a mode of a TaintPolicy', { mode: 'Restore' }, 'spec.mode'),
  restriction('no taints to restrict', { taints: [] }, 'spec.taints'),
  restriction('more taints than the API server can check', { taints: times(13, () => ({ key: 'a' })) }, 'spec.taints'),
  restriction('a pattern of keys', { taints: [{ key: 'a*' }] }, 'spec.taints[0].key'),
  restriction(
    'a key with a domain that is too long',
    { taints: [{ key: `${'a'.repeat(254)}/b` }] },
    'spec.taints[0].key',
    'expected at most 253 characters before the slash',
  ),
  restriction('an empty namespace', { exceptNamespaces: [''] }, 'spec.exceptNamespaces[0]'),
  recovery('the smallest RecoveryPolicy', {}),
  recovery('every field of a RecoveryPolicy', {
    mode: 'Audit',
    daemonSets: { namespaces: ['kube-*'], names: ['cni'], selector: EVERY_PART_OF_A_SELECTOR },
  }),
  recovery('a mode of the other kinds', { mode: 'Mutate' }, 'spec.mode'),
  recovery('no namespaces', { daemonSets: { namespaces: [] } }, 'spec.daemonSets.namespaces'),
  recovery('a backstop, which nothing could be', { backstop: 'Native' }, 'spec.backstop'),
  recovery('a field that no RecoveryPolicy has', { stuckSeconds: 10 }, 'spec.stuckSeconds'),
  ...['readiness.k8s.io/*', 'nidhogg.uswitch.com/*', 'status-taint.cluster-autoscaler.kubernetes.io/*'].map((key) =>
    taint(
      `a domain whose taints Kubernetes or an agent sets and removes: ${key}`,
      { taints: [{ key }] },
      'spec.taints[0].key',
      'protects nothing: DOMAIN/* never covers taints that Kubernetes or an agent sets and removes, so name an exact key',
    ),
  ),
  ...['node.kubernetes.io/*', 'karpenter.sh/*', 'node-role.kubernetes.io/*', 'karpenter.sh/unregistered'].map((key) =>
    taint(`a domain with more than taints that Kubernetes or an agent sets and removes, or an exact key: ${key}`, {
      taints: [{ key }],
    }),
  ),
  taint(
    'one taint that has to be there with two values',
    { taints: [present({ value: 'x' }), { key: 'b' }, present({ value: 'y' })] },
    'spec.taints',
    'two rules with ensure and the same key and effect cannot have different values',
  ),
  taint('one taint that has to be there twice, once with any value', {
    taints: [
      present({ value: 'x' }),
      present({}),
      present({ value: 'x' }),
      present({ value: 'y', effect: 'NoExecute' }),
    ],
  }),
];

/** Fields that the API server removes before a program reads the object. */
export const CLEARED_BY_THE_API_SERVER: readonly PolicyCase[] = [
  taint('an optional field that is null', { removalByAnnotation: null }, 'spec.removalByAnnotation'),
  taint('an optional field that is null and has no default', { failurePolicy: null }, 'spec.failurePolicy'),
  taint('an optional map that is null', { nodeSelector: null }, 'spec.nodeSelector'),
  taint('an optional list that is null', { exempt: { users: null } }, 'spec.exempt.users'),
  taint(
    'the value of a label that is null',
    { nodeSelector: { matchLabels: { pool: null } } },
    'spec.nodeSelector.matchLabels.pool',
  ),
  taint('a field of a rule that is null', { taints: [{ key: 'a', value: null }] }, 'spec.taints[0].value'),
];
