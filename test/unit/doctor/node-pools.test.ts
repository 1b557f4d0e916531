import { expect, it } from 'vitest';
import { checkNodePools } from '../../../src/doctor/checks/node-pools.ts';
import type { Facts } from '../../../src/doctor/facts/facts.ts';
import type { NodePoolFacts } from '../../../src/doctor/facts/node-pool-facts.ts';
import { readingOf } from '../../../src/doctor/facts/reading.ts';
import type { NodePool } from '../../../src/node-pools/node-pool.ts';
import { viewKarpenterPool } from '../../../src/objects/karpenter-pool.ts';
import { healthyFacts, INSTALLATION, node, taintPolicy, unseen } from './facts.ts';

const KARPENTER = { right: 'listNodePools', version: 'v1' } as const;
const pool = (taints: object[] = []) =>
  viewKarpenterPool({ metadata: { name: 'gpu' }, spec: { template: { spec: { taints } } } }) as NodePool;
const pools = (...all: NodePool[]) => readingOf<NodePoolFacts>({ apis: [KARPENTER], pools: all });
const BY_MACHINE = { nodeSelector: { matchLabels: { 'node.kubernetes.io/instance-type': 'p5' } } };
const CLUSTER_API = { right: 'listMachineDeployments', version: 'v1beta2' } as const;
const CSI = { key: 'ebs.csi.aws.com/agent-not-ready', effect: 'NoExecute' };
const PREFIXED = { key: 'startup-taint.cluster-autoscaler.kubernetes.io/csi', effect: 'NoSchedule' };
const inPool = node('n2', { 'karpenter.sh/nodepool': 'gpu' }, [CSI]);
const NOT_PERMITTED = readingOf({
  user: 'u',
  reviewed: 1,
  missingNeeded: [],
  missingOptional: ['listNodePools'] as const,
});

it.each<{ what: string; facts: Partial<Facts>; expected: readonly [string, RegExp, RegExp?][] }>([
  { what: 'no autoscaler', facts: {}, expected: [['ok', /neither NodePools of Karpenter nor/]] },
  {
    what: 'a pool that declares the taint',
    facts: {
      nodePools: pools(pool([{ key: 'dedicated', value: 'gpu', effect: 'NoSchedule' }])),
    },
    expected: [['ok', /^1 pool, each with all required taints/]],
  },
  {
    what: 'a pool that does not, with one command for all policies',
    facts: {
      nodePools: pools(pool()),
      policies: readingOf([
        taintPolicy('p', {}),
        taintPolicy('q', { taints: [{ key: 'slow', effect: 'NoSchedule', ensure: 'Always' }] }),
      ]),
    },
    expected: [
      [
        'problem',
        /^NodePool gpu does not declare taint dedicated=gpu:NoSchedule, required by TaintPolicy p \(spec\.taints\[0\]\) and slow:NoSchedule, required by TaintPolicy q/,
        /^to declare it, upon which Karpenter replaces the nodes of the pool .*: kubectl patch nodepools.karpenter.sh gpu .*"dedicated".*"slow"/,
      ],
    ],
  },
  {
    what: 'a policy in mode Audit',
    facts: { nodePools: pools(pool()), policies: readingOf([taintPolicy('p', { mode: 'Audit' })]) },
    expected: [['note', /get it as soon as TaintPolicy p \(spec\.taints\[0\]\) is enforced/, /: kubectl patch/]],
  },
  {
    what: 'an installation in mode Audit',
    facts: { nodePools: pools(pool()), installation: { ...INSTALLATION, audit: true } },
    expected: [['note', /is enforced/]],
  },
  {
    what: 'a policy for some nodes of the pool',
    facts: { nodePools: pools(pool()), policies: readingOf([taintPolicy('p', BY_MACHINE)]) },
    expected: [
      [
        'note',
        /some of its nodes may get it: TaintPolicy p .*by node\.kubernetes\.io\/instance-type/,
        /a pool of its own/,
      ],
    ],
  },
  {
    what: 'startup taints that nodes carry and no policy requires',
    facts: { nodePools: pools(pool()), policies: readingOf([]), nodes: readingOf([inPool]) },
    expected: [
      [
        'problem',
        /^NodePool gpu does not declare in startupTaints taint ebs\.csi\.aws\.com\/agent-not-ready:NoExecute, which node n2 carried/,
        /: kubectl patch nodepools.karpenter.sh gpu .*startupTaints/,
      ],
    ],
  },
  {
    what: 'the same with Cluster Autoscaler, whose flags are not known',
    facts: {
      nodePools: readingOf({ apis: [CLUSTER_API], pools: [] }),
      policies: readingOf([]),
      nodes: readingOf([node('n2', {}, [CSI])]),
    },
    expected: [
      [
        'note',
        /^node n2 carries startup taint ebs\.csi\.aws\.com\/agent-not-ready, which Cluster Autoscaler takes for a taint that stays/,
        /--startup-taint=ebs\.csi\.aws\.com\/agent-not-ready, or use a key with the prefix startup-taint\.cluster-autoscaler\.kubernetes\.io\//,
      ],
    ],
  },
  {
    what: 'a key that Cluster Autoscaler ignores, and nodes of Karpenter',
    facts: {
      nodePools: readingOf({ apis: [CLUSTER_API], pools: [] }),
      policies: readingOf([]),
      nodes: readingOf([inPool, node('n3', {}, [PREFIXED])]),
    },
    expected: [['ok', /^0 pools/]],
  },
  {
    what: 'what taintkeeper may not see',
    facts: { nodePools: pools(), rights: NOT_PERMITTED },
    expected: [
      [
        'note',
        /may not list NodePools/,
        /^echo .*"apiGroups":\["karpenter\.sh"\],"resources":\["nodepools"\],"verbs":\["list"\].* \| kubectl apply -f -$/,
      ],
    ],
  },
  {
    what: 'what it may not see, and needs not',
    facts: {
      nodePools: pools(),
      rights: NOT_PERMITTED,
      policies: readingOf([taintPolicy('p', { taints: [{ key: 'a' }] })]),
    },
    expected: [['ok', /^0 pools/]],
  },
  {
    what: 'pools that cannot be read',
    facts: { nodePools: unseen('you may not list nodepools') },
    expected: [['skipped', /you may not list/]],
  },
])('$what', ({ facts, expected }) => {
  const found = checkNodePools(healthyFacts(facts));
  expect(found).toHaveLength(expected.length);
  for (const [index, [state, evidence, remedy = /(?:)/]] of expected.entries()) {
    expect(found[index]).toMatchObject({ state, evidence: expect.stringMatching(evidence) });
    expect(found[index]?.remedy ?? '').toMatch(remedy);
  }
});
