import type { Policy } from '../src/policy/policy.ts';
import { webhookEntries } from '../src/webhooks/webhook-entries.ts';
import { median } from './statistics.ts';

/**
 * How long the event loop of a process that answers admissions stands still while policies become webhook entries. Prints
 * the rows of a Markdown table; the ratio is to the first row.
 */
const ROUNDS = 7;

const EFFECTS = ['NoSchedule', 'PreferNoSchedule', 'NoExecute'] as const;
const MODES = ['Deny', 'Restore', 'Audit'] as const;

/** As many as the CRD allows of each list. */
const MOST = 64;
const LONGEST_DOMAIN = Array.from({ length: 4 }, () => 'd'.repeat(62)).join('.');

/** The longest qualified name, another one for each number. */
const longestKey = (number: number) => `${LONGEST_DOMAIN}/${longest(number)}`;
const longest = (number: number, length = 63) => `v${number}-`.padEnd(length, 'x');
const times = <Item>(count: number, make: (index: number) => Item) => Array.from({ length: count }, (_, i) => make(i));
const pick = <Item>(items: readonly [Item, ...Item[]], index: number): Item => items[index % items.length] ?? items[0];

/** What people write: a pool, a taint or two, now and then somebody who is exempt; and every tenth is for DaemonSets. */
function ordinary(index: number): Policy {
  const name = `policy-${index}`;
  if (index % 10 === 9) {
    const daemonSets = { namespaces: ['kube-system', `team-${index}`], names: ['agent-*', '*-csi'] };
    return { kind: 'TolerationPolicy', name, spec: { mode: 'Mutate', daemonSets } };
  }
  return {
    kind: 'TaintPolicy',
    name,
    spec: {
      mode: pick(MODES, index),
      nodeSelector: { matchLabels: { 'example.com/pool': `pool-${index}` } },
      taints: [
        { key: `example.com/dedicated-${index}`, value: 'yes', effect: 'NoSchedule', ensure: 'Always' },
        { key: `team-${index}.example.com/*` },
      ],
      ...(index % 3 === 0 ? { exempt: { users: [`system:serviceaccount:team-${index}:*`] } } : {}),
    },
  };
}

const selectorAtMaxima = (index: number, operator: 'In' | 'NotIn') => ({
  matchLabels: Object.fromEntries(times(MOST, (n) => [longestKey(index * MOST + n), longest(n)])),
  matchExpressions: times(MOST, (n) => ({ key: longestKey(n), operator, values: times(MOST, (v) => longest(v + n)) })),
});

/** All of the CRD's bounds are reached. Patterns that only a regular expression can express, when `wild`. */
function atMaxima(wild: boolean): (index: number) => Policy {
  const star = wild ? '*' : '';
  const names = (index: number) => times(MOST, (n) => `${star}${star && 'a*'}${longest(index * MOST + n, 250)}`);
  return (index) => ({
    kind: 'TaintPolicy',
    name: `policy-${index}`,
    spec: {
      mode: pick(MODES, index),
      nodeSelector: selectorAtMaxima(index, wild ? 'NotIn' : 'In'),
      taints: times(MOST, (n) => ({
        key: wild && n % 2 === 1 ? `*d*${longestKey(index * MOST + n).slice(3)}` : longestKey(index * MOST + n),
        value: longest(n),
        effect: pick(EFFECTS, n),
        ...(wild && n % 2 === 1 ? {} : { ensure: 'Always' as const }),
      })),
      exempt: { users: names(index), groups: names(index) },
    },
  });
}

/** The same of TolerationPolicies. */
function tolerationsAtMaxima(index: number): Policy {
  return {
    kind: 'TolerationPolicy',
    name: `policy-${index}`,
    spec: {
      mode: 'Mutate',
      daemonSets: {
        namespaces: times(MOST, (n) => longest(index * MOST + n)),
        names: times(MOST, (n) => `*a*${longest(index * MOST + n, 250)}`),
        selector: selectorAtMaxima(index, 'In'),
      },
      tolerations: times(MOST, (n) => ({ key: longestKey(index * MOST + n), value: longest(n) })),
    },
  };
}

/** No selector: the same nodes, and so one question about all of the keys. */
function keysAtMaxima(index: number): Policy {
  const taints = times(MOST, (n) => ({ key: longestKey(index * MOST + n) }));
  return { kind: 'TaintPolicy', name: `policy-${index}`, spec: { mode: 'Deny', taints } };
}

const CASES: readonly { readonly what: string; readonly policies: readonly Policy[] }[] = [
  { what: '100 ordinary', policies: times(100, ordinary) },
  { what: '1,000 ordinary', policies: times(1_000, ordinary) },
  { what: '20 at all maxima', policies: times(20, atMaxima(false)) },
  { what: '20 at all maxima, with patterns', policies: times(20, atMaxima(true)) },
  { what: '20 TolerationPolicies at all maxima', policies: times(20, tolerationsAtMaxima) },
  { what: '20 with as many keys as can be', policies: times(20, keysAtMaxima) },
];

const measured = new Map<string, number[]>(CASES.map(({ what }) => [what, []]));
for (let round = 0; round < ROUNDS; round++) {
  // Interleaved; the first round warms up what a process that has just started has not compiled yet, and counts.
  for (const { what, policies } of CASES) {
    const began = performance.now();
    webhookEntries(policies);
    measured.get(what)?.push(performance.now() - began);
  }
}

const base = median(measured.get(CASES[0]?.what ?? '') ?? []);
process.stdout.write('| policies | widened | median | range | ratio |\n| --- | --- | --- | --- | --- |\n');
for (const { what, policies } of CASES) {
  const values = measured.get(what) ?? [];
  const entries = webhookEntries(policies);
  const widened = `${entries.filter((entry) => entry.widened !== undefined).length} of ${entries.length}`;
  const range = `${Math.min(...values).toFixed(0)}-${Math.max(...values).toFixed(0)} ms`;
  const ratio = (median(values) / base).toFixed(1);
  process.stdout.write(`| ${what} | ${widened} | ${median(values).toFixed(0)} ms | ${range} | ${ratio} |\n`);
}
