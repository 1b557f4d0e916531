import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { eachNode, groupNodes } from '../../../src/coverage/node-groups.ts';
import { isTransientFor, NO_STARTUP_RULES, type StartupRules } from '../../../src/coverage/startup-rules.ts';
import { formatTaint } from '../../../src/kubernetes/taint.ts';
import {
  type Coverage,
  compileCoverage,
  type SchedulingNode,
  type SchedulingView,
} from '../../../src/scheduling/coverage.ts';
import { taints, tolerations } from '../admission/generators.ts';
import { affine, CONTROL_PLANE, daemonSet, GPU, MASTER, NOT_READY, node } from '../scheduling/scheduling.ts';

const names = (groups: readonly { nodes: readonly { name: string }[] }[]) =>
  groups.map(({ nodes }) => nodes.map(({ name }) => name));

/** A policy for the nodes of pool a has each of their taints as a startup taint. */
const IN_POOL_A: StartupRules = { ...NO_STARTUP_RULES, endOn: ({ labels }) => labels.pool === 'a' };

interface Case {
  readonly why: string;
  readonly daemonSets: SchedulingView[];
  readonly nodes: ReturnType<typeof node>[];
  readonly groups: string[][];
  readonly startup?: StartupRules;
}

describe('nodes are equal', () => {
  it.each<Case>([
    {
      why: 'when every DaemonSet runs on them, with any labels',
      daemonSets: [daemonSet('a')],
      nodes: [node('n1'), node('n2', [], { zone: 'a' })],
      groups: [['n1', 'n2']],
    },
    {
      why: 'when a taint is tolerated by all',
      daemonSets: [daemonSet('a', { tolerations: [{ operator: 'Exists' }] })],
      nodes: [node('n1'), node('n2', [MASTER])],
      groups: [['n1', 'n2']],
    },
    {
      why: 'when they carry the same taints in another order',
      daemonSets: [daemonSet('a')],
      nodes: [node('n1', [MASTER, GPU]), node('n2', [GPU, MASTER])],
      groups: [['n1', 'n2']],
    },
    {
      why: 'not when different taints keep a DaemonSet off',
      daemonSets: [daemonSet('a')],
      nodes: [node('m', [MASTER]), node('c', [CONTROL_PLANE])],
      groups: [['m'], ['c']],
    },
    {
      why: 'not when one DaemonSet of several has a different result',
      daemonSets: [daemonSet('a'), daemonSet('b', { nodeSelector: { pool: 'gpu' } })],
      nodes: [node('n1', [], { pool: 'gpu' }), node('n2', [], { pool: 'cpu' })],
      groups: [['n1'], ['n2']],
    },
    {
      why: 'with any values in place of the required one',
      daemonSets: [
        daemonSet('a', { nodeSelector: { host: 'n9' } }),
        daemonSet('b', affine({ key: 'host', operator: 'In', values: ['n9'] })),
      ],
      nodes: [node('n1', [], { host: 'n1' }), node('n2', [], { host: 'n2' }), node('n3')],
      groups: [['n1', 'n2', 'n3']],
    },
    {
      why: 'not when a startup taint passes on one of them',
      daemonSets: [daemonSet('a')],
      nodes: [node('n1', [GPU], { pool: 'a' }), node('n2', [GPU], { pool: 'b' }), node('n3', [GPU], { pool: 'a' })],
      startup: IN_POOL_A,
      groups: [['n1', 'n3'], ['n2']],
    },
    {
      why: 'when all tolerate a startup taint that passes on one of them, or do not run there anyway',
      daemonSets: [
        daemonSet('a', { tolerations: [{ operator: 'Exists' }] }),
        daemonSet('b', { nodeSelector: { host: 'n9' } }),
      ],
      nodes: [node('n1', [GPU], { pool: 'a' }), node('n2', [GPU], { pool: 'b' })],
      startup: IN_POOL_A,
      groups: [['n1', 'n2']],
    },
    {
      why: 'when a taint of Kubernetes passes on all of them, even if policies select only some',
      daemonSets: [daemonSet('a')],
      nodes: [node('n1', [NOT_READY], { pool: 'a' }), node('n2', [NOT_READY])],
      startup: IN_POOL_A,
      groups: [['n1', 'n2']],
    },
    {
      why: 'and the largest group comes first',
      daemonSets: [daemonSet('a')],
      nodes: [node('m', [MASTER]), node('n1'), node('n2')],
      groups: [['n1', 'n2'], ['m']],
    },
  ])('$why', ({ daemonSets, nodes, groups, startup }) => {
    expect(names(groupNodes(daemonSets, nodes, startup))).toEqual(groups);
  });

  it('or each is a group of its own, in the given order', () => {
    expect(names(eachNode([daemonSet('a')], [node('n2'), node('n1')]))).toEqual([['n2'], ['n1']]);
  });
});

it('the results of a group hold for each of its nodes, and every node is in one group', () => {
  const arbitraryNodes = fc.array(
    fc.record({
      taints: fc.oneof(fc.constant([GPU]), taints),
      labels: fc.constantFrom({}, { pool: 'a' }, { pool: 'b' }),
    }),
  );
  const inPool = { key: 'pool', operator: 'In', values: ['b'] };
  const isNamed = { key: 'metadata.name', operator: 'NotIn', values: ['n1'] };
  const arbitraryDaemonSets = fc.array(
    fc.record({
      tolerations,
      nodeSelector: fc.constantFrom({}, { pool: 'a' }),
      nodeName: fc.constantFrom('', '', 'n0'),
      nodeAffinity: fc.constantFrom<SchedulingView['nodeAffinity'][]>(
        undefined,
        [{ matchExpressions: [inPool], matchFields: [] }],
        [{ matchExpressions: [], matchFields: [isNamed] }],
      ),
    }),
    { maxLength: 4 },
  );
  fc.assert(
    fc.property(arbitraryNodes, arbitraryDaemonSets, (states, specs) => {
      const nodes = states.map((state, index) => ({ name: `n${index}`, ...state }));
      const daemonSets = specs.map((spec, index) => daemonSet(`d${index}`, spec));
      const groups = groupNodes(daemonSets, nodes, IN_POOL_A);
      for (const { nodes, coverageOf } of groups) {
        for (const each of daemonSets) {
          const coverageOn = compileCoverage(each);
          for (const node of nodes) expect(sayings(coverageOn(node))).toEqual(sayings(coverageOf(each).coverage));
          expect(new Set(nodes.map((node) => passingOn(node, coverageOn(node)))).size).toBe(1);
        }
      }
      expect(names(groups).flat().sort()).toEqual(nodes.map(({ name }) => name).sort());
    }),
  );
});

/** The taints that pass among those that alone keep a DaemonSet off. */
function passingOn(node: SchedulingNode, coverage: Coverage): string {
  const obstacles = coverage.runs ? [] : coverage.obstacles;
  const taints = obstacles.flatMap((obstacle) => (obstacle.kind === 'taint' ? [obstacle.taint] : []));
  const passing = taints.filter((taint) => isTransientFor(undefined, node, taint, IN_POOL_A));
  return taints.length < obstacles.length ? '' : passing.map(formatTaint).sort().join();
}

function sayings(coverage: Coverage): unknown {
  const obstacles = coverage.runs === false ? coverage.obstacles : [];
  // `timeAdded` is carried along with a taint, and is not what makes it the taint that it is; nor is an empty value, or the order.
  const texts = obstacles.map((obstacle) =>
    JSON.stringify(obstacle, (key, part) => (['found', 'timeAdded'].includes(key) || part === '' ? undefined : part)),
  );
  return { ...coverage, obstacles: texts.sort() };
}
