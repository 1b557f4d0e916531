import fc from 'fast-check';
import type { PolicyKind } from '../../src/policy/policy.ts';

// Specs that are valid about half of the time: mostly what is right, now and then something next to it.

const DOMAIN_OF_253 = Array.from({ length: 127 }, () => 'a').join('.');

const mostly = (right: fc.Arbitrary<unknown>, ...wrong: unknown[]) =>
  fc.oneof({ weight: 60, arbitrary: right }, { weight: 1, arbitrary: fc.constantFrom(...wrong) });

const oneOf = (...values: string[]) => mostly(fc.constantFrom(...values), 'Other', '', 5, {});

const ODD_KEYS = [
  '',
  'a b',
  'a/b/c',
  '/a',
  'a/',
  'A.b/c',
  '-a',
  'a\n',
  `a${DOMAIN_OF_253}/n`,
  'n'.repeat(64),
  'ä',
  7,
  ['a'],
];
const KEYS = [
  'dedicated',
  'example.com/a',
  'node.kubernetes.io/out-of-service',
  'A_b.c-1',
  `${DOMAIN_OF_253}/${'n'.repeat(63)}`,
];
const PATTERNS = ['example.com/*', 'a.b-c.d/*'];
/** No patterns of a policy, and one of which a policy protects nothing. */
const ODD_PATTERNS = ['*', 'a*b', '*/x', 'A.b/*', 'a/*/b', `a${DOMAIN_OF_253}/*`, 'readiness.k8s.io/*'];
const LIFE_CYCLE_KEYS = ['node.kubernetes.io/not-ready', 'node.cloudprovider.kubernetes.io/uninitialized'];

const key = mostly(fc.constantFrom(...KEYS), ...ODD_KEYS, 'a*');
const keyOrPattern = mostly(
  fc.constantFrom(...KEYS, ...PATTERNS),
  ...ODD_KEYS,
  ...ODD_PATTERNS,
  ...LIFE_CYCLE_KEYS,
  'a*b c',
  '.*',
);
const exception = mostly(
  fc.constantFrom('example.com/a', 'example.com/b-c'),
  'a.b-c.d/x',
  'a',
  'example.com/*',
  ...ODD_KEYS,
);
const value = mostly(
  fc.constantFrom('', 'x', 'X-1_2.3', 'v'.repeat(63)),
  'v'.repeat(64),
  'a/b',
  '-',
  ' ',
  'x\n',
  true,
  1,
);
const effect = oneOf('NoSchedule', 'PreferNoSchedule', 'NoExecute');

const list = (item: fc.Arbitrary<unknown>, { minLength = 0, maxLength = 3 } = {}) =>
  mostly(fc.array(item, { minLength, maxLength }), 'a', {}, 3);
const names = list(
  mostly(
    fc.constantFrom('*', 'kube-system', 'system:serviceaccount:a:b', 'ä', '😀'.repeat(60)),
    '',
    'n'.repeat(254),
    '😀'.repeat(254),
    1,
  ),
);

/** Fields that may all be left out but those named, and now and then one that nobody knows. */
const fields = (model: Record<string, fc.Arbitrary<unknown>>, requiredKeys: string[] = []) =>
  mostly(
    fc
      .tuple(fc.record(model, { requiredKeys, noNullPrototype: true }), mostly(fc.constant({}), { unknown: 1 }))
      .map(([known, more]) => ({ ...known, ...(more as object) })),
    'text',
    [],
    {},
  );

const requirement = fc.oneof(
  {
    weight: 4,
    arbitrary: fields({ key, operator: oneOf('In', 'NotIn'), values: list(value, { minLength: 1 }) }, [
      'key',
      'operator',
      'values',
    ]),
  },
  { weight: 4, arbitrary: fields({ key, operator: oneOf('Exists', 'DoesNotExist') }, ['key', 'operator']) },
  {
    weight: 1,
    arbitrary: fields({ key, operator: oneOf('In', 'NotIn', 'Exists', 'DoesNotExist'), values: list(value) }),
  },
);

const selector = fields({
  matchLabels: mostly(
    fc.dictionary(
      mostly(fc.constantFrom(...KEYS), 'a b', 'a/b/c', '', 'n'.repeat(64), '__proto__x').map(String),
      value,
      {
        maxKeys: 3,
        noNullPrototype: true,
      },
    ),
    'pool=gpu',
    ['pool'],
  ),
  matchExpressions: list(requirement, { maxLength: 2 }),
});

const objectName = mostly(fc.constantFrom('kube-system', 'a.b', 'cilium'), '', 'A', 'a_b', 1, '-a');
const readyWhen = mostly(
  fields(
    {
      daemonSets: list(
        mostly(fields({ namespace: objectName, name: objectName }, ['namespace', 'name']), 'cilium', []),
        {
          minLength: 1,
          maxLength: 3,
        },
      ),
      allDaemonSets: mostly(
        fields({
          namespaces: list(mostly(fc.constantFrom('kube-system', 'a'), 'A', '', 1), { minLength: 1, maxLength: 2 }),
          except: list(
            mostly(fields({ namespace: objectName, name: objectName }, ['namespace', 'name']), 'cilium', []),
            { minLength: 1, maxLength: 2 },
          ),
        }),
        'all',
        [],
      ),
      conditions: list(
        mostly(fields({ type: mostly(key, 'a b', 1), status: oneOf('True', 'False', 'Unknown') }, ['type']), 'A', []),
        { minLength: 1, maxLength: 2 },
      ),
      csiDrivers: list(mostly(fields({ name: objectName }, ['name']), 'cilium', []), { minLength: 1, maxLength: 2 }),
      allocatable: list(
        mostly(
          fields({ resource: mostly(fc.constantFrom('a.com/gpu', 'hugepages-2Mi'), 'cpu', 'hugepages-', 1) }, [
            'resource',
          ]),
          'cpu',
          [],
        ),
        { minLength: 1, maxLength: 2 },
      ),
      progressDeadlineSeconds: mostly(fc.constantFrom(1, 600, 86_400), 0, 86_401, '60', 0.5),
      afterDeadline: oneOf('Keep', 'Remove'),
    },
    [],
  ),
  'cilium',
  {},
);

const patternTaint = fields(
  { key: fc.constant('example.com/*'), value, effect, except: list(exception, { minLength: 1 }) },
  ['key'],
);

const taint = fc.oneof(
  { weight: 3, arbitrary: patternTaint },
  {
    weight: 1,
    arbitrary: fields(
      { key: mostly(fc.constantFrom(...PATTERNS), ...KEYS), except: list(exception, { minLength: 1 }) },
      ['key'],
    ),
  },
  {
    weight: 4,
    arbitrary: fields({ key: keyOrPattern, value, effect }, ['key']),
  },
  {
    weight: 6,
    arbitrary: fields({ key, value, effect, ensure: oneOf('Always', 'AtRegistration') }, ['key', 'effect', 'ensure']),
  },
  {
    weight: 2,
    arbitrary: fields(
      {
        key,
        value,
        effect: fc.constant('NoSchedule'),
        ensure: fc.constant('UntilReady'),
        readyWhen,
        afterReboot: oneOf('Ignore', 'SetAgain'),
      },
      ['key', 'effect', 'ensure', 'readyWhen'],
    ),
  },
  {
    // With parts that are allowed with it.
    weight: 1,
    arbitrary: fields(
      {
        key,
        effect: fc.constant('NoSchedule'),
        ensure: fc.constant('UntilReady'),
        readyWhen: fc.constantFrom(
          { daemonSets: [{ namespace: 'kube-system', name: 'cilium' }] },
          { allocatable: [{ resource: 'a.com/gpu' }] },
        ),
        afterReboot: fc.constant('SetAgain'),
      },
      ['key', 'effect', 'ensure', 'readyWhen'],
    ),
  },
  {
    weight: 1,
    arbitrary: fields({ key, effect, ensure: oneOf('UntilReady'), readyWhen }, ['key', 'ensure']),
  },
  {
    weight: 1,
    arbitrary: fields({ key: keyOrPattern, effect, ensure: oneOf('Always', 'AtRegistration') }, ['key', 'ensure']),
  },
  {
    weight: 1,
    arbitrary: fields({ key, effect, ensure: oneOf('Always', 'AtRegistration') }, ['key', 'effect']),
  },
);

const tolerationSeconds = mostly(
  fc.constantFrom(0, -1, 300, 2 ** 31, Number.MAX_SAFE_INTEGER, Number.MIN_SAFE_INTEGER),
  2 ** 53,
  -(2 ** 53),
  1e30,
  0.5,
  '30',
);

const toleration = fc.oneof(
  { weight: 4, arbitrary: fields({ key, operator: oneOf('Equal'), value, effect }, ['key']) },
  { weight: 4, arbitrary: fields({ key, operator: oneOf('Exists'), effect }, ['operator']) },
  { weight: 4, arbitrary: fields({ key, effect: fc.constant('NoExecute'), tolerationSeconds }, ['key', 'effect']) },
  { weight: 1, arbitrary: fields({ key, operator: oneOf('Exists', 'Equal'), value, effect, tolerationSeconds }) },
);

const backstop = oneOf('None', 'Native');

const daemonSets = fields(
  {
    namespaces: list(mostly(fc.constantFrom('*', 'kube-system'), '', 'n'.repeat(64), 1), { minLength: 1 }),
    names,
    selector,
  },
  ['namespaces'],
);

const taintPolicy = fields(
  {
    mode: oneOf('Deny', 'Restore', 'Audit'),
    nodeSelector: selector,
    taints: list(taint, { minLength: 1 }),
    exempt: fields({ users: names, groups: names }),
    removalByAnnotation: oneOf('Allowed', 'Forbidden'),
    failurePolicy: oneOf('Fail', 'Ignore'),
    backstop,
  },
  ['mode', 'taints'],
);

/** Specs of each kind, right or wrong, but for what only the program can see to be wrong. */
export const SPECS: Readonly<Record<PolicyKind, fc.Arbitrary<unknown>>> = {
  TaintPolicy: taintPolicy,
  TolerationPolicy: fields(
    {
      mode: oneOf('Mutate', 'Audit'),
      daemonSets,
      tolerations: list(toleration, { minLength: 1 }),
      existing: oneOf('Report', 'Patch'),
      backstop,
    },
    ['mode', 'daemonSets'],
  ),
  TolerationRestriction: fields(
    {
      mode: oneOf('Audit', 'Deny'),
      taints: list(fields({ key: mostly(key, 'a*', ''), value, effect }, ['key']), { minLength: 1, maxLength: 12 }),
      exceptNamespaces: list(mostly(fc.constantFrom('*', 'kube-system'), '', 'n'.repeat(64), 1)),
    },
    ['mode', 'taints'],
  ),
  RecoveryPolicy: fields(
    {
      mode: oneOf('Recover', 'Audit'),
      daemonSets,
    },
    ['daemonSets'],
  ),
};
