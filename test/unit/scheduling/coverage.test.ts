import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import type { Taint } from '../../../src/kubernetes/taint.ts';
import type { Toleration } from '../../../src/kubernetes/toleration.ts';
import {
  type Coverage,
  compileCoverage,
  type SchedulingNode,
  type SchedulingView,
} from '../../../src/scheduling/coverage.ts';
import type { Obstacle } from '../../../src/scheduling/obstacle.ts';
import { taints, tolerations } from '../admission/generators.ts';
import { affine, CONTROL_PLANE, daemonSet, MASTER } from './scheduling.ts';

const worker: SchedulingNode = { name: 'w1', labels: { pool: 'gpu', bare: '' }, taints: [] };

const EVICTING: Taint = { key: 'example.com/evicting', value: 'x', effect: 'NoExecute' };

const coverage = (given: Partial<SchedulingView>, node: Partial<SchedulingNode> = {}): Coverage =>
  compileCoverage(daemonSet('agent', given))({ ...worker, ...node });
const BRIEFLY: Toleration = { key: EVICTING.key, operator: 'Exists', effect: 'NoExecute', tolerationSeconds: 30 };
const obstacles = (answer: Coverage): readonly Obstacle[] => (answer.runs ? [] : answer.obstacles);

describe('tolerationSeconds: pods that run are evicted again', () => {
  const forever: Toleration = { ...BRIEFLY, tolerationSeconds: null };
  it.each<{ why: string; tolerations: Toleration[]; taints?: Taint[]; seconds?: number }>([
    { why: 'after these seconds', tolerations: [BRIEFLY], seconds: 30 },
    { why: 'at once where they are negative', tolerations: [{ ...BRIEFLY, tolerationSeconds: -1 }], seconds: 0 },
    { why: 'because the first toleration counts', tolerations: [BRIEFLY, forever], seconds: 30 },
    { why: 'not where the first one has none', tolerations: [forever, BRIEFLY] },
    { why: 'not without the taint', tolerations: [BRIEFLY], taints: [] },
    {
      why: 'not where the DaemonSet controller puts its own toleration in place',
      tolerations: [{ ...BRIEFLY, key: 'node.kubernetes.io/unreachable' }],
      taints: [{ key: 'node.kubernetes.io/unreachable', effect: 'NoExecute' }],
    },
  ])('$why', ({ tolerations, taints = [EVICTING], seconds }) => {
    expect(coverage({ tolerations }, { taints })).toEqual({
      runs: true,
      ...(seconds === undefined ? {} : { evictions: [{ taint: EVICTING, seconds }] }),
    });
  });
});

it('a DaemonSet without requirements runs on a node without taints', () => {
  expect(coverage({})).toEqual({ runs: true });
});

describe('taints', () => {
  it.each<{ why: string; daemonSet?: Partial<SchedulingView>; taints: Taint[]; repelled: Taint[] }>([
    { why: 'NoSchedule keeps off', taints: [MASTER], repelled: [MASTER] },
    { why: 'NoExecute keeps off', taints: [EVICTING], repelled: [EVICTING] },
    { why: 'PreferNoSchedule does not', taints: [{ ...MASTER, effect: 'PreferNoSchedule' }], repelled: [] },
    { why: 'an effect of the future does not', taints: [{ ...MASTER, effect: 'NoRetreat' }], repelled: [] },
    {
      why: 'a tolerated one is none',
      daemonSet: { tolerations: [{ key: MASTER.key, operator: 'Exists' }] },
      taints: [MASTER],
      repelled: [],
    },
    {
      why: 'all that are not tolerated are named',
      daemonSet: { tolerations: [{ key: MASTER.key, operator: 'Exists', effect: 'NoSchedule' }] },
      taints: [CONTROL_PLANE, MASTER, EVICTING],
      repelled: [CONTROL_PLANE, EVICTING],
    },
    {
      why: 'tolerationSeconds do not count for the controller',
      daemonSet: { tolerations: [{ key: EVICTING.key, operator: 'Exists', tolerationSeconds: 0 }] },
      taints: [EVICTING],
      repelled: [],
    },
  ])('$why', ({ daemonSet = {}, taints, repelled }) => {
    expect(obstacles(coverage(daemonSet, { taints }))).toEqual(repelled.map((taint) => ({ kind: 'taint', taint })));
  });
});

describe("Kubernetes' own taints", () => {
  it.each<[string, string, 'always' | 'hostNetwork' | 'never']>([
    ['not-ready', 'NoExecute', 'always'],
    ['unreachable', 'NoExecute', 'always'],
    ['disk-pressure', 'NoSchedule', 'always'],
    ['memory-pressure', 'NoSchedule', 'always'],
    ['pid-pressure', 'NoSchedule', 'always'],
    ['unschedulable', 'NoSchedule', 'always'],
    ['network-unavailable', 'NoSchedule', 'hostNetwork'],
    ['not-ready', 'NoSchedule', 'never'],
    ['unreachable', 'NoSchedule', 'never'],
    ['unschedulable', 'NoExecute', 'never'],
    ['network-unavailable', 'NoExecute', 'never'],
    ['out-of-service', 'NoExecute', 'never'],
  ])('%s:%s is tolerated by daemons: %s', (name, effect, tolerated) => {
    const taints = [{ key: `node.kubernetes.io/${name}`, value: 'any', effect }];
    expect(coverage({}, { taints }).runs).toBe(tolerated === 'always');
    expect(coverage({ hostNetwork: true }, { taints }).runs).toBe(tolerated !== 'never');
  });
});

describe('nodeSelector', () => {
  it.each<{ why: string; nodeSelector: SchedulingView['nodeSelector']; missing: object[] }>([
    { why: 'the label is there', nodeSelector: { pool: 'gpu' }, missing: [] },
    { why: 'another value', nodeSelector: { pool: 'cpu' }, missing: [{ key: 'pool', required: 'cpu', found: 'gpu' }] },
    { why: 'absent', nodeSelector: { zone: 'a' }, missing: [{ key: 'zone', required: 'a', found: undefined }] },
    { why: 'empty', nodeSelector: { bare: '' }, missing: [] },
    { why: 'null is empty', nodeSelector: { bare: null }, missing: [] },
    {
      why: 'empty is not absent',
      nodeSelector: { zone: '' },
      missing: [{ key: 'zone', required: '', found: undefined }],
    },
    {
      why: 'each label counts',
      nodeSelector: { pool: 'gpu', zone: 'a', bare: 'b' },
      missing: [
        { key: 'zone', required: 'a', found: undefined },
        { key: 'bare', required: 'b', found: '' },
      ],
    },
  ])('$why', ({ nodeSelector, missing }) => {
    expect(obstacles(coverage({ nodeSelector }))).toEqual(missing.map((more) => ({ kind: 'nodeSelector', ...more })));
  });
});

describe('nodeName', () => {
  it('binds the DaemonSet to one node', () => {
    expect(coverage({ nodeName: 'w1' })).toEqual({ runs: true });
    expect(obstacles(coverage({ nodeName: 'w2' }))).toEqual([{ kind: 'nodeName', required: 'w2' }]);
  });

  it('does not make taints ineffective', () => {
    expect(obstacles(coverage({ nodeName: 'w1' }, { taints: [MASTER] }))).toEqual([{ kind: 'taint', taint: MASTER }]);
  });
});

describe('node affinity', () => {
  const zone = { key: 'zone', operator: 'Exists', values: [] };

  it('is an obstacle when none of its terms matches', () => {
    expect(obstacles(coverage(affine(zone)))).toEqual([
      { kind: 'nodeAffinity', terms: [{ index: 0, unmet: [{ ...zone, found: undefined, malformed: false }] }] },
    ]);
  });

  it('without terms matches no node', () => {
    expect(obstacles(coverage({ nodeAffinity: [] }))).toEqual([{ kind: 'nodeAffinity', terms: [] }]);
  });
});

it('names all obstacles', () => {
  const answer = coverage(
    { nodeName: 'w2', nodeSelector: { zone: 'a' }, nodeAffinity: [] },
    { taints: [CONTROL_PLANE, EVICTING] },
  );
  expect(obstacles(answer).map(({ kind }) => kind)).toEqual([
    'nodeName',
    'nodeSelector',
    'nodeAffinity',
    'taint',
    'taint',
  ]);
});

describe('an existing pod', () => {
  it.each<{ why: string; daemonSet?: Partial<SchedulingView>; taints?: Taint[]; stays: boolean }>([
    { why: 'NoSchedule taints evict no pod', taints: [MASTER, CONTROL_PLANE], stays: true },
    { why: 'a NoExecute taint does', taints: [MASTER, EVICTING], stays: false },
    { why: 'labels that changed do', daemonSet: { nodeSelector: { pool: 'cpu' } }, taints: [MASTER], stays: false },
    { why: 'an affinity that no longer matches does', daemonSet: { nodeAffinity: [] }, stays: false },
    { why: 'another nodeName does', daemonSet: { nodeName: 'w2' }, stays: false },
  ])('$why', ({ daemonSet = {}, taints = [], stays }) => {
    expect(coverage(daemonSet, { taints })).toMatchObject({ runs: false, staysIfThere: stays });
  });
});

it('an additional toleration never removes a node, and one for all taints adds all nodes that only taints keep off', () => {
  fc.assert(
    fc.property(tolerations, tolerations, taints, fc.boolean(), (some, more, taints, hostNetwork) => {
      const count = (tolerations: SchedulingView['tolerations']) =>
        obstacles(coverage({ tolerations, hostNetwork }, { taints })).length;
      expect(count([...some, ...more])).toBeLessThanOrEqual(count(some));
      expect(count([...some, { operator: 'Exists' }])).toBe(0);
    }),
  );
});
