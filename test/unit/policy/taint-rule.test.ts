import { describe, expect, it } from 'vitest';
import { problemsOf } from '../../e2e/policy-objects.ts';
import { manifest, policySet } from './policies.ts';

const readyWhen = { daemonSets: [{ namespace: 'kube-system', name: 'cni' }] };
const startup = { key: 'a', effect: 'NoSchedule', ensure: 'UntilReady', readyWhen };
const required = { key: 'a', effect: 'NoSchedule', ensure: 'Always' };

/** The messages themselves are in the reference and in the CRD: here, what leads to which. */
const LIFE_CYCLE = 'Kubernetes sets and removes this taint during the life of a node, so a policy must not keep it';
const OUT_OF_SERVICE = 'ensure is not allowed for this taint: Kubernetes deletes the pods';
const ONLY_NO_SCHEDULE = 'ensure: UntilReady is only for effect NoSchedule';
const ONLY_DOMAIN = 'except is only for a key DOMAIN/*, and lists keys of that domain';
const STAR = 'a key "*" is not allowed: it would keep the taints by which unknown agents mark a node that starts';
const NO_KEY = 'expected a taint key, NAME or DOMAIN/NAME, or DOMAIN/* for all keys of a domain';
const OUT = 'node.kubernetes.io/out-of-service';

/** One character more than a domain may have. */
const LONG_DOMAIN = 'a'.repeat(254);

describe('a rule of a TaintPolicy', () => {
  it.each<{ why: string; rule: object; problems: string[] }>([
    { why: 'protects a key', rule: { key: 'a' }, problems: [] },
    { why: 'protects a domain', rule: { key: 'example.com/*', value: 'x', effect: 'NoSchedule' }, problems: [] },
    { why: 'sets', rule: required, problems: [] },
    { why: 'sets at registration', rule: { ...required, ensure: 'AtRegistration' }, problems: [] },
    ...['*', '**'].map((key) => ({
      why: `protects everything: ${key}`,
      rule: { key },
      problems: [`spec.taints[0].key: ${STAR}`],
    })),
    ...['a*', 'a/*b', '*/a', 'exa*.com/*', 'example.com/a*', 'Example.com/*'].map((key) => ({
      why: `has a star elsewhere than for the name: ${key}`,
      rule: { key },
      problems: [`spec.taints[0].key: ${NO_KEY}`],
    })),
    ...['node.kubernetes.io/unschedulable', 'node.kubernetes.io/not-ready'].flatMap((key) =>
      [{ key }, { ...required, key }, { ...required, key, ensure: 'AtRegistration' }, { ...startup, key }].map(
        (rule) => ({
          why: `names a taint of the life cycle: ${JSON.stringify(rule)}`,
          rule,
          problems: [`spec.taints[0].key: ${LIFE_CYCLE}`],
        }),
      ),
    ),
    { why: 'protects out-of-service', rule: { key: OUT }, problems: [] },
    {
      why: 'sets out-of-service',
      rule: { ...required, key: OUT },
      problems: [`spec.taints[0].ensure: ${OUT_OF_SERVICE}`],
    },
    { why: 'sets until ready', rule: startup, problems: [] },
    {
      why: 'sets until ready with another effect',
      rule: { ...startup, effect: 'NoExecute' },
      problems: [`spec.taints[0].effect: ${ONLY_NO_SCHEDULE}`],
    },
    ...['Ignore', 'SetAgain'].flatMap((afterReboot) => [
      { why: `sets until ready, and after a reboot: ${afterReboot}`, rule: { ...startup, afterReboot }, problems: [] },
      {
        why: `sets at registration, and after a reboot: ${afterReboot}`,
        rule: { ...required, ensure: 'AtRegistration', afterReboot },
        problems: ['spec.taints[0].afterReboot: afterReboot is only for ensure: UntilReady'],
      },
      {
        why: `protects, and after a reboot: ${afterReboot}`,
        rule: { key: 'a', afterReboot },
        problems: ['spec.taints[0].afterReboot: afterReboot is only for ensure: UntilReady'],
      },
    ]),
    ...[{ conditions: [{ type: 'A' }] }, { csiDrivers: [{ name: 'a.com' }] }].flatMap((part) => [
      {
        why: `sets again after a reboot, by what no boot is known of: ${Object.keys(part)}`,
        rule: { ...startup, readyWhen: { ...readyWhen, ...part }, afterReboot: 'SetAgain' },
        problems: ['spec.taints[0].afterReboot: afterReboot: SetAgain is not allowed with readyWhen.conditions or '],
      },
      {
        why: `ignores a reboot, and waits for ${Object.keys(part)}`,
        rule: { ...startup, readyWhen: part, afterReboot: 'Ignore' },
        problems: [],
      },
    ]),
    {
      why: 'sets again after a reboot, by whatever DaemonSets there are',
      rule: { ...startup, readyWhen: { allDaemonSets: { namespaces: ['a'] } }, afterReboot: 'SetAgain' },
      problems: [
        'spec.taints[0].afterReboot: afterReboot: SetAgain needs readyWhen.daemonSets or readyWhen.allocatable',
      ],
    },
    {
      why: 'sets again after a reboot, by allocatable resources',
      rule: { ...startup, readyWhen: { allocatable: [{ resource: 'nvidia.com/gpu' }] }, afterReboot: 'SetAgain' },
      problems: [],
    },
    {
      why: 'waits for nothing',
      rule: { ...startup, readyWhen: {} },
      problems: ['spec.taints[0].readyWhen: readyWhen needs at least one of '],
    },
    {
      why: 'names one DaemonSet twice',
      rule: { ...startup, readyWhen: { daemonSets: [...readyWhen.daemonSets, ...readyWhen.daemonSets] } },
      problems: ['spec.taints[0].readyWhen.daemonSets[1]: Duplicate value: kube-system/cni is listed twice'],
    },
    {
      why: 'waits for a condition whose domain is too long',
      rule: { ...startup, readyWhen: { conditions: [{ type: 'Ready' }, { type: `${LONG_DOMAIN}/Ready` }] } },
      problems: ['spec.taints[0].readyWhen.conditions[1].type: expected at most 253 characters before the slash'],
    },
    {
      why: 'excepts DaemonSets from those that it waits for',
      rule: { ...startup, readyWhen: { allDaemonSets: { except: readyWhen.daemonSets } } },
      problems: [],
    },
    {
      why: 'excepts one DaemonSet twice',
      rule: {
        ...startup,
        readyWhen: { allDaemonSets: { except: [...readyWhen.daemonSets, ...readyWhen.daemonSets] } },
      },
      problems: ['spec.taints[0].readyWhen.allDaemonSets.except[1]: Duplicate value: kube-system/cni is listed twice'],
    },
    {
      why: 'protects a domain of the greatest length',
      rule: { key: `${LONG_DOMAIN.slice(1)}/*`, except: [`${LONG_DOMAIN.slice(1)}/a`] },
      problems: [],
    },
    {
      why: 'protects a domain that is too long',
      rule: { key: `${LONG_DOMAIN}/*` },
      problems: [`spec.taints[0].key: ${NO_KEY}`],
    },
    {
      why: 'excepts keys of a domain that is too long',
      rule: { key: 'example.com/*', except: ['example.com/a', `${LONG_DOMAIN}/a`] },
      problems: [
        'spec.taints[0].except[1]: expected at most 253 characters before the slash',
        `spec.taints[0].except: ${ONLY_DOMAIN}`,
      ],
    },
    {
      why: 'excepts keys of its domain',
      rule: { key: 'example.com/*', except: ['example.com/a', 'example.com/b.c'] },
      problems: [],
    },
    ...[
      { key: 'a', except: ['b'] },
      { key: 'example.com/*', except: ['other.example/a'] },
      { key: 'example.com/*', except: ['a'] },
      { key: 'example.com/*', except: ['example.org/a'] },
      { key: 'example.com/*', except: ['example.com'] },
    ].map((rule) => ({
      why: `excepts what it does not cover: ${JSON.stringify(rule)}`,
      rule,
      problems: [`spec.taints[0].except: ${ONLY_DOMAIN}`],
    })),
  ])('that $why', ({ rule, problems }) => {
    const found = problemsOf(manifest('TaintPolicy', 'p', { mode: 'Deny', taints: [rule] }));
    // Of each, the beginning.
    expect(found.map((text, index) => text.slice(0, problems[index]?.length))).toEqual(problems);
  });

  it.each(['example.com/b c', 'example.com/b/c', 'example.com/b*'])('names the invalid exception: %s', (key) => {
    const rule = { key: 'example.com/*', except: ['example.com/a', key] };
    expect(problemsOf(manifest('TaintPolicy', 'p', { mode: 'Deny', taints: [rule] }))).toEqual([
      expect.stringMatching(/^spec\.taints\[0\]\.except\[1\]: /),
    ]);
  });
});

it.each([
  { values: ['x', 'y'], contradicts: true },
  { values: ['x', 'x'], contradicts: false },
  { values: [undefined, 'y'], contradicts: false },
])(
  'required taints of one key and effect with the values $values contradict each other: $contradicts',
  ({ values, contradicts }) => {
    const taints = values.map((value) => ({ ...required, ...(value ? { value } : {}) }));
    const found = problemsOf(manifest('TaintPolicy', 'p', { mode: 'Deny', taints }));
    expect(found).toEqual(contradicts ? [expect.stringMatching(/^spec\.taints\[1\]\.value: .*spec\.taints\[0\]/)] : []);
  },
);

it('a key that is not valid is reported with its field in the other kinds, too', () => {
  const daemonSets = { namespaces: ['a'] };
  const tolerations = [
    { key: 'a', operator: 'Exists' },
    { key: 'a/b/c', operator: 'Exists' },
  ];
  expect(problemsOf(manifest('TolerationPolicy', 'p', { mode: 'Audit', daemonSets, tolerations }))).toEqual([
    expect.stringMatching(/^spec\.tolerations\[1\]\.key: /),
  ]);
  expect(
    problemsOf(manifest('TolerationRestriction', 'p', { mode: 'Audit', taints: [{ key: 'a' }, { key: 'a/b/c' }] })),
  ).toEqual([expect.stringMatching(/^spec\.taints\[1\]\.key: /)]);
});

it('the taints of a TolerationRestriction have their fields', () => {
  const set = policySet({ restriction: { p: { mode: 'Deny', taints: [{ key: 'a' }, { key: 'b' }] } } });
  expect(set.tolerationRestrictions[0]?.taints.map(({ key, field }) => [key, field])).toEqual([
    ['a', 'spec.taints[0]'],
    ['b', 'spec.taints[1]'],
  ]);
});

it('exempt users and Forbidden are not allowed with a required taint, because no entry could keep it off', () => {
  const problems = (spec: object) =>
    problemsOf(
      manifest('TaintPolicy', 'p', { mode: 'Deny', taints: [required], removalByAnnotation: 'Forbidden', ...spec }),
    );
  const refused = [
    expect.stringMatching(/^spec\.removalByAnnotation: with ensure: Always and exempt, Forbidden is not allowed/),
  ];
  expect(problems({ exempt: { users: ['root'] } })).toEqual(refused);
  expect(problems({ exempt: { groups: ['admins'] } })).toEqual(refused);
  expect(problems({ exempt: { users: ['root'], groups: ['admins'] } })).toEqual(refused);
  expect(problems({ exempt: { users: ['root'] }, taints: [required, { key: 'b' }] })).toEqual(refused);
  expect(problems({ exempt: { users: [], groups: [] } })).toEqual([]);
  expect(problems({})).toEqual([]);
  expect(problems({ exempt: { users: ['root'] }, taints: [{ key: 'a' }] })).toEqual([]);
  expect(problems({ exempt: { users: ['root'] }, removalByAnnotation: 'Allowed' })).toEqual([]);
});
