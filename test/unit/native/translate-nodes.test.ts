import { join } from 'node:path';
import { describe, expect, it } from 'vitest';
import { stringify } from 'yaml';
import { manifestsOf } from '../../../src/native/manifests.ts';
import { translate } from '../../../src/native/translate.ts';
import type { NativeTranslation, TranslationOptions } from '../../../src/native/translation.ts';
import type { Policy } from '../../../src/policy/policy.ts';
import type { TaintPolicySpec } from '../../../src/policy/taint-policy.ts';
import type { TaintRule } from '../../../src/policy/taint-rule.ts';

type Specs = Readonly<Record<string, TaintPolicySpec>>;

const PRESENT = { key: 'dedicated', value: 'gpu', effect: 'NoSchedule', ensure: 'Always' } as const;
const DENY: TaintPolicySpec = { mode: 'Deny', taints: [{ key: 'dedicated' }] };
const RESTORE: TaintPolicySpec = {
  mode: 'Restore',
  nodeSelector: { matchLabels: { pool: 'gpu' } },
  taints: [PRESENT, { key: 'example.com/*' }],
  exempt: { users: ['autoscaler'] },
};
const CRITICAL: TaintPolicySpec = {
  mode: 'Deny',
  taints: [{ key: 'dedicated', effect: 'NoSchedule' }],
  exempt: { groups: ['operators'] },
};
const UNTIL_READY: TaintRule = {
  ...{ key: 'a', effect: 'NoSchedule', ensure: 'UntilReady' },
  readyWhen: { daemonSets: [{ namespace: 'kube-system', name: 'cilium' }] },
};
const AUDIT: TaintPolicySpec = { mode: 'Audit', taints: [PRESENT] };

/** What the first of the policies becomes, among all of them. */
function translated(specs: Specs, options: Partial<TranslationOptions> = {}): NativeTranslation {
  const among = Object.entries(specs).map(([name, spec]): Policy => ({ kind: 'TaintPolicy', name, spec }));
  const [first] = among;
  if (first?.kind !== 'TaintPolicy') throw new Error('no policy');
  return translate(first, { among, mutates: true, purpose: 'Alone', ...options });
}

/** Name, failure policy and actions of each object. */
function shape(specs: Specs, options: Partial<TranslationOptions> = {}): string[] {
  return translated(specs, options).policies.map((policy) => {
    const actions = policy.kind === 'ValidatingAdmissionPolicy' ? ` ${policy.validationActions}` : '';
    return `${policy.name} ${policy.spec.failurePolicy}${actions}`;
  });
}

const WITHOUT_MAP = { mutates: false };
const BACKSTOP = { purpose: 'Backstop' } as const;

it.each<[what: string, specs: Specs, options: Partial<TranslationOptions>, expected: string[]]>([
  [
    'Deny',
    { p: DENY },
    {},
    ['p.restore.taintkeeper.dev Ignore', 'p.disallow.taintkeeper.dev Ignore', 'p.protect.taintkeeper.dev Fail Deny'],
  ],
  [
    'a policy that protects nothing, and reads no entries',
    { p: { mode: 'Deny', taints: [{ ...PRESENT, ensure: 'AtRegistration' }] } },
    {},
    ['p.register.taintkeeper.dev Ignore', 'p.report-registration.taintkeeper.dev Ignore Audit,Warn'],
  ],
  [
    'a policy of startup taints, which entries keep off a node',
    { p: { mode: 'Deny', taints: [UNTIL_READY] } },
    {},
    [
      'p.disallow.taintkeeper.dev Ignore',
      'p.register.taintkeeper.dev Ignore',
      'p.report-registration.taintkeeper.dev Ignore Audit,Warn',
    ],
  ],
  [
    'Deny that may fail',
    { p: { ...DENY, failurePolicy: 'Ignore', removalByAnnotation: 'Forbidden' } },
    {},
    ['p.restore.taintkeeper.dev Ignore', 'p.disallow.taintkeeper.dev Ignore', 'p.protect.taintkeeper.dev Ignore Deny'],
  ],
  ['Deny without MutatingAdmissionPolicy', { p: DENY }, WITHOUT_MAP, ['p.protect.taintkeeper.dev Fail Deny']],
  [
    'Restore with a required taint',
    { p: RESTORE },
    {},
    [
      'p.restore.taintkeeper.dev Ignore',
      'p.disallow.taintkeeper.dev Ignore',
      'p.register.taintkeeper.dev Ignore',
      'p.select.taintkeeper.dev Ignore',
      'p.protect.taintkeeper.dev Ignore Deny',
      'p.report-registration.taintkeeper.dev Ignore Audit,Warn',
    ],
  ],
  [
    'Restore without MutatingAdmissionPolicy',
    { p: RESTORE },
    WITHOUT_MAP,
    ['p.protect.taintkeeper.dev Ignore Deny', 'p.report-registration.taintkeeper.dev Ignore Audit,Warn'],
  ],
  [
    'Audit',
    { p: AUDIT },
    {},
    ['p.report.taintkeeper.dev Ignore Audit,Warn', 'p.report-registration.taintkeeper.dev Ignore Audit,Warn'],
  ],
  [
    'Audit under the webhook, which warns',
    { p: AUDIT },
    BACKSTOP,
    ['p.report.taintkeeper.dev Ignore Audit', 'p.report-registration.taintkeeper.dev Ignore Audit'],
  ],
  [
    'a required taint that evicts pods: no running node gets it',
    { p: { ...RESTORE, taints: [{ ...PRESENT, effect: 'NoExecute' }] } },
    {},
    [
      'p.restore.taintkeeper.dev Ignore',
      'p.disallow.taintkeeper.dev Ignore',
      'p.register.taintkeeper.dev Ignore',
      'p.protect.taintkeeper.dev Ignore Deny',
      'p.report-registration.taintkeeper.dev Ignore Audit,Warn',
    ],
  ],
  [
    'a key DOMAIN/*',
    { p: { mode: 'Restore', taints: [{ key: 'example.com/*' }] } },
    BACKSTOP,
    ['p.restore.taintkeeper.dev Ignore', 'p.disallow.taintkeeper.dev Ignore', 'p.protect.taintkeeper.dev Ignore Deny'],
  ],
  [
    'a required taint of which a stronger policy requires another value on every node',
    { p: AUDIT, b: { ...AUDIT, mode: 'Restore' } },
    {},
    ['p.report.taintkeeper.dev Ignore Audit,Warn', 'p.report-registration.taintkeeper.dev Ignore Audit,Warn'],
  ],
])('%s', (_what, specs, options, expected) => {
  expect(shape(specs, options)).toEqual(expected);
});

describe('required taints of several policies', () => {
  const other = { ...PRESENT, value: 'other' };
  const registers = (specs: Specs) =>
    translated(specs).policies.flatMap(({ name, spec }) =>
      name === 'p.register.taintkeeper.dev' ? spec.variables.filter((one) => one.name === 'required') : [],
    );
  const own = '[{"key": "dedicated", "value": "gpu", "effect": "NoSchedule"}]';

  it.each<[what: string, specs: Specs, expected: string | undefined]>([
    ['alone', { p: RESTORE }, own],
    ['a weaker one requires another value', { p: RESTORE, q: { mode: 'Restore', taints: [other] } }, own],
    ['a stronger one requires the same', { p: RESTORE, a: { mode: 'Deny', taints: [PRESENT] } }, own],
    [
      'a stronger one requires another value everywhere',
      { p: RESTORE, a: { mode: 'Deny', taints: [other] } },
      undefined,
    ],
    [
      'a stronger one requires it on other nodes',
      { p: RESTORE, a: { mode: 'Deny', taints: [other], nodeSelector: { matchLabels: { pool: 'cpu' } } } },
      own,
    ],
    [
      'a stronger one requires it on some nodes',
      { p: RESTORE, a: { mode: 'Deny', taints: [other], nodeSelector: { matchLabels: { zone: 'z' } } } },
      `(\n  "zone" in variables.labels && variables.labels["zone"] == "z"\n  ? []\n  : ${own}\n)`,
    ],
    ['an Audit policy requires another value', { p: RESTORE, a: { mode: 'Audit', taints: [other] } }, own],
  ])('%s', (_what, specs, expected) => {
    expect(registers(specs).map(({ expression }) => expression)).toEqual(expected === undefined ? [] : [expected]);
  });
});

describe('what it does not say', () => {
  const fields = (specs: Specs, options: Partial<TranslationOptions> = {}) =>
    translated(specs, options).limits.map(({ field, message }) => `${field}: ${message.slice(0, 42)}`);

  it.each<[what: string, specs: Specs, options: Partial<TranslationOptions>, expected: string[]]>([
    ['Audit', { p: { mode: 'Audit', taints: [{ key: 'a' }] } }, {}, []],
    ['Deny', { p: DENY }, {}, ['spec.removalByAnnotation: an entry of taintkeeper.dev/allow-removal ']],
    ['Deny under the webhook', { p: DENY }, BACKSTOP, []],
    [
      'Restore alone',
      { p: RESTORE },
      {},
      [
        'spec.mode: taints are restored without a warning to t',
        'spec.taints: a node gets missing required taints only w',
        'spec.removalByAnnotation: an entry of taintkeeper.dev/allow-removal ',
        'spec.exempt: patterns exempt no user with a name of mor',
        'spec.taints: the API server may stop evaluating it for ',
      ],
    ],
    [
      'Restore without MutatingAdmissionPolicy',
      { p: { mode: 'Restore', taints: [PRESENT], removalByAnnotation: 'Forbidden' } },
      WITHOUT_MAP,
      [
        'spec.mode: without MutatingAdmissionPolicy, no taint ',
        'spec.taints: without MutatingAdmissionPolicy, a node th',
        'spec.taints: a node gets missing required taints only w',
        'spec.removalByAnnotation: without MutatingAdmissionPolicy, a node th',
      ],
    ],
    [
      'a startup taint that waits for DaemonSets',
      { p: { mode: 'Deny', taints: [UNTIL_READY], removalByAnnotation: 'Forbidden' } },
      BACKSTOP,
      [
        'spec.taints: no startup taint is removed when its Daemo',
        'spec.taints: the API server may stop evaluating it for ',
      ],
    ],
  ])('%s', (_what, specs, options, expected) => {
    expect(fields(specs, options)).toEqual(expected);
  });
});

describe('what is refused', () => {
  it('too much for the API server to evaluate', () => {
    const demanding = (index: number): [string, TaintPolicySpec] => [
      `p${index}`,
      {
        mode: index === 0 ? 'Restore' : 'Deny',
        taints: [{ key: 'dedicated' }],
        exempt: { users: [`*:controller-${index}-*-of-*`] },
      },
    ];
    const many = Object.fromEntries(Array.from({ length: 300 }, (_, index) => demanding(index)));
    const { policies, refusal } = translated(many);
    expect(policies).toEqual([]);
    expect(refusal).toMatch(
      /^TaintPolicy p0: the API server would stop evaluating it for a node with 64 taints: divide it/,
    );
  });

  it('a name that leaves no room', () => {
    expect(translated({ ['p'.repeat(240)]: DENY })).toMatchObject({
      policies: [],
      refusal: expect.stringContaining('.restore.taintkeeper.dev is too long for the name of an object'),
    });
  });
});

/** As kubectl would get them, for people to read. */
it.each<[file: string, specs: Specs, options: Partial<TranslationOptions>]>([
  ['deny', { 'control-plane': { ...DENY, removalByAnnotation: 'Forbidden' } }, {}],
  ['restore-among-others', { 'gpu-pool': RESTORE, critical: CRITICAL }, BACKSTOP],
  ['audit', { watch: { ...AUDIT, taints: [{ key: 'dedicated' }] } }, {}],
])('reads well: %s', async (file, specs, options) => {
  const manifests = translated(specs, options).policies.flatMap((policy) => manifestsOf(policy, 'v1'));
  const text = manifests.map((manifest) => `---\n${stringify(manifest, { lineWidth: 0 })}`).join('');
  await expect(text).toMatchFileSnapshot(join(import.meta.dirname, 'nodes', `${file}.yaml`));
});

it.each<[what: string, spec: Partial<TaintPolicySpec>, options: Partial<TranslationOptions>, told: boolean]>([
  ['that fails closed under the webhook', {}, BACKSTOP, true],
  ['that fails open', { failurePolicy: 'Ignore' }, BACKSTOP, false],
  ['that allows none', { removalByAnnotation: 'Forbidden' }, BACKSTOP, false],
  ['that stands alone', {}, {}, false],
])('a policy %s: does its refusal say when the annotation does not help?', (_what, spec, options, told) => {
  const text = JSON.stringify(translated({ p: { ...DENY, ...spec } }, options).policies);
  expect(
    text.includes(
      'While no replica of taintkeeper runs, failurePolicy: Fail also refuses removals that were allowed by annotation.',
    ),
  ).toBe(told);
});

it.each<[what: string, specs: Specs]>([
  ['one policy', { p: RESTORE }],
  [
    'one that any value satisfies',
    { p: { ...RESTORE, taints: [{ key: 'a', effect: 'NoSchedule', ensure: 'Always' }] } },
  ],
  [
    'one among others that protect and require the same taint',
    { p: { ...RESTORE, mode: 'Deny' }, q: DENY, r: { ...RESTORE, taints: [{ ...PRESENT, value: 'cpu' }] } },
  ],
])('defines each variable that it uses: %s', (_what, specs) => {
  for (const { name, spec } of translated(specs, BACKSTOP).policies) {
    const defined = new Set(spec.variables.map((variable) => variable.name));
    const used = [...JSON.stringify(spec).matchAll(/variables\.(\w+)/g)].map(([, variable]) => variable);
    expect(
      used.filter((variable = '') => !defined.has(variable)),
      name,
    ).toEqual([]);
  }
});

it.each([
  { ensure: 'AtRegistration' as const },
  { ensure: 'UntilReady' as const, readyWhen: { daemonSets: [{ namespace: 'kube-system', name: 'cilium' }] } },
])('a policy that has startup taints alone sets them: $ensure', (startup) => {
  const spec: TaintPolicySpec = { mode: 'Deny', taints: [{ key: 'a', effect: 'NoSchedule', ...startup }] };
  expect(shape({ p: spec })).toContain('p.register.taintkeeper.dev Ignore');
});
