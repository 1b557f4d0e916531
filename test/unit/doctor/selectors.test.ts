import { expect, it } from 'vitest';
import { parse } from 'yaml';
import { checkSelectors } from '../../../src/doctor/checks/selectors.ts';
import { readingOf } from '../../../src/doctor/facts/reading.ts';
import { readBuiltinPolicies } from '../../../src/files/builtin-policies.ts';
import { readPolicy } from '../../e2e/policy-objects.ts';
import { daemonSet, healthyFacts, node, policyObject, taintPolicy, tolerationPolicy } from './facts.ts';

const POOL = { nodeSelector: { matchLabels: { pool: 'gpu' } } };
const NODES = [node('n1', { pool: 'cpu', zone: 'a' }), node('n2', { pool: 'cpu' })];
const DAEMON_SETS = [
  daemonSet('kube-system/kube-proxy'),
  daemonSet('kube-system/calico-node', { labels: { app: 'c' } }),
];

it.each([
  { what: 'every node', policy: taintPolicy('p', {}), expected: ['ok', /every policy \(1\)/] },
  {
    what: 'some node',
    policy: taintPolicy('p', { nodeSelector: { matchLabels: { zone: 'a' } } }),
    expected: ['ok', /selects something/],
  },
  {
    what: 'no node, as the value is another one: the pool may be scaled to zero',
    policy: taintPolicy('p', POOL),
    expected: ['note', /TaintPolicy p selects none of 2 nodes by pool=gpu \(here, pool is cpu\)/],
  },
  {
    what: 'no node, as no node has the label',
    policy: taintPolicy('p', { nodeSelector: { matchLabels: { team: 'x' } } }),
    expected: ['note', /by team=x \(nothing has team\)/],
  },
  {
    what: 'no node, as the labels are on different ones',
    policy: taintPolicy('p', {
      nodeSelector: {
        matchLabels: { zone: 'a' },
        matchExpressions: [{ key: 'zone', operator: 'DoesNotExist' }],
      },
    }),
    expected: ['problem', /can select no node: nothing is zone=a, !zone/],
  },
  {
    what: 'no node, as there is none',
    policy: taintPolicy('p', POOL),
    nodes: [],
    expected: ['note', /no nodes yet/],
  },
  {
    what: 'a DaemonSet',
    policy: tolerationPolicy('p', {
      namespaces: ['kube-*'],
      names: ['calico-*'],
      selector: { matchLabels: { app: 'c' } },
    }),
    expected: ['ok', /selects something/],
  },
  {
    what: 'no DaemonSet, by its namespace',
    policy: tolerationPolicy('p', { namespaces: ['calico-system'] }),
    expected: ['problem', /none of 2 DaemonSets: there is none in namespace calico-system/],
  },
  {
    what: 'no DaemonSet, by its name',
    policy: policyObject('RecoveryPolicy', 'p', { daemonSets: { namespaces: ['kube-system'], names: ['flannel'] } }),
    expected: [
      'problem',
      /RecoveryPolicy p .*none is named flannel in namespace kube-system; there: kube-proxy, calico-node/,
    ],
  },
  {
    what: 'no DaemonSet, by its labels',
    policy: tolerationPolicy('p', { namespaces: ['kube-system'], selector: { matchLabels: { app: 'd' } } }),
    expected: ['problem', /none is labelled app=d \(here, app is c\)/],
  },
  {
    what: 'no DaemonSet, as there is none',
    policy: tolerationPolicy('p', { namespaces: ['kube-system'] }),
    daemonSets: [],
    expected: ['note', /no DaemonSets yet/],
  },
] as const)('$what', ({ policy, nodes = NODES, daemonSets = DAEMON_SETS, expected: [state, evidence] }) => {
  const facts = healthyFacts({
    policies: readingOf([policy]),
    nodes: readingOf(nodes),
    daemonSets: readingOf(daemonSets),
  });
  const results = checkSelectors(facts);
  expect(results).toEqual([expect.objectContaining({ state, evidence: expect.stringMatching(evidence) })]);
  const isAdvised = state === 'problem' || /by \S+=/.test(results[0]?.evidence ?? '');
  expect(results[0]?.remedy).toEqual(isAdvised ? expect.stringContaining('kubectl edit') : undefined);
});

it('a built-in policy may match nothing, unless a user has changed which DaemonSets it selects', async () => {
  const texts = await readBuiltinPolicies();
  const builtin = texts.map(({ text }) => readPolicy(parse(text)));
  const cni = builtin.find(({ name }) => name === 'cni-tolerations');
  if (cni?.kind !== 'TolerationPolicy') throw new Error('there is no such policy');
  const look = (daemonSets: object) =>
    checkSelectors(
      healthyFacts({
        policies: readingOf([policyObject('TolerationPolicy', cni.name, { ...cni.spec, daemonSets })]),
        builtin,
        daemonSets: readingOf([daemonSet('default/x')]),
      }),
    );
  expect(look(cni.spec.daemonSets)).toMatchObject([{ state: 'note' }]);
  expect(look({ ...cni.spec.daemonSets, names: ['mine'] })).toMatchObject([{ state: 'problem' }]);
});
