import { describe, expect, it } from 'vitest';
import { type PolicyObject, viewPolicy } from '../../../src/cluster/policies/policy-object.ts';
import { explainNode, formatNode, type NodeFacts } from '../../../src/explain/explain-node.ts';
import type { PolicyKind } from '../../../src/policy/policy.ts';
import { policyObject } from '../../e2e/policy-objects.ts';

const NOW = Date.parse('2026-01-01T12:00:00Z');
const TAINT = { key: 'node.cilium.io/agent-not-ready', effect: 'NoSchedule' };

const FACTS = { policies: [], audit: false, events: [], notes: [], now: NOW };

describe('pods that do not tolerate the taints', () => {
  const gpu = { key: 'gpu', effect: 'NoSchedule' };
  const preparing = { key: 'example.com/preparing', effect: 'NoSchedule' };
  const waiting = { key: 'example.com/gpu', effect: 'NoSchedule' };
  const startup = policyObject('TaintPolicy', 'p', {
    mode: 'Restore',
    taints: [
      { ...preparing, ensure: 'AtRegistration' },
      { ...waiting, ensure: 'UntilReady', readyWhen: { allocatable: [{ resource: 'example.com/gpu' }] } },
    ],
  });
  const policies = [
    viewPolicy('TaintPolicy', { ...startup, metadata: { ...startup.metadata, uid: 'u', generation: 1 } }),
  ];
  const explained = (taints: readonly object[], pods: NodeFacts['pods']) =>
    explainNode({ metadata: { name: 'n1' }, spec: { taints } }, 'n1', { ...FACTS, policies, pods });
  const lone = { name: 'default/lone', tolerations: [] };
  const daemon = { name: 'kube-system/daemon', tolerations: [{ operator: 'Exists' }] };

  it('are listed with those taints, and the next step says how they move', () => {
    const node = explained([gpu, preparing], [daemon, lone]);
    expect(node.intolerantPods).toEqual([{ pod: 'default/lone', taints: [gpu] }]);
    const { sections, next, isOk } = formatNode(node);
    expect(sections).toContainEqual({
      head: ['Pod', 'Does not tolerate'],
      rows: [['default/lone', 'gpu:NoSchedule']],
    });
    expect(next.note).toContain('delete them');
    expect(isOk).toBe(true);
  });

  it.each<{ why: string; taints: readonly object[]; pods: NodeFacts['pods'] }>([
    { why: 'every pod tolerates the taint', taints: [gpu], pods: [daemon] },
    { why: 'a startup taint is often set after the pods', taints: [preparing, TAINT], pods: [lone] },
    { why: 'a startup taint with a deadline was, too', taints: [waiting], pods: [lone] },
    { why: 'the pods were not read', taints: [gpu], pods: undefined },
  ])('are none: $why', ({ taints, pods }) => {
    const { sections, next } = formatNode(explained(taints, pods));
    expect(JSON.stringify(sections)).not.toContain('Does not tolerate');
    expect(next).toEqual({ note: 'nothing: no required taint is missing' });
  });
});

it('what another writer removes is the next step, before what a policy only reports', () => {
  const policies = ['Audit', 'Restore'].map((mode) => {
    const name = mode.toLowerCase();
    const object = policyObject('TaintPolicy', name, {
      mode,
      taints: [{ key: name, effect: 'NoSchedule', ensure: 'Always' }],
    });
    return viewPolicy('TaintPolicy', { ...object, metadata: { ...object.metadata, uid: name, generation: 1 } });
  });
  const object = { metadata: { name: 'n1' }, spec: {} };
  const { next } = formatNode(explainNode(object, 'n1', { ...FACTS, policies }, ({ key }) => key === 'restore'));
  expect(next.command).toContain('reason=TaintConflict');
});

const linesOf = (
  ready: { status: string; lastTransitionTime: string },
  taints: object[] = [TAINT],
  policies: readonly PolicyObject[] = [],
) => {
  const node = {
    metadata: { name: 'n1', creationTimestamp: '2026-01-01T09:00:00Z' },
    spec: { taints },
    status: { conditions: [{ type: 'Ready', ...ready }] },
  };
  return formatNode(explainNode(node, 'n1', { ...FACTS, policies })).sections.flatMap((section) =>
    'lines' in section ? section.lines : [],
  );
};

it('names a startup taint that stays on a Ready node', () => {
  expect(linesOf({ status: 'True', lastTransitionTime: '2026-01-01T11:30:00Z' })).toContain(
    'startup taint node.cilium.io/agent-not-ready:NoSchedule has been on the Ready node for 30 minutes: check the agent or controller that removes it',
  );
});

it('names one that a policy set when the node registered', () => {
  const taint = { key: 'example.com/preparing', effect: 'NoSchedule' };
  const policy = policyObject('TaintPolicy', 'p', {
    mode: 'Restore',
    taints: [{ ...taint, ensure: 'AtRegistration' }],
  });
  const lines = linesOf(
    { status: 'True', lastTransitionTime: '2026-01-01T11:30:00Z' },
    [taint],
    [viewPolicy('TaintPolicy', { ...policy, metadata: { ...policy.metadata, uid: 'u', generation: 1 } })],
  );
  expect(lines).toContainEqual(expect.stringContaining('startup taint example.com/preparing:NoSchedule has been on'));
});

it.each([
  { what: 'on a node that became Ready a short time ago', ready: { status: 'True', at: '2026-01-01T11:50:00Z' } },
  { what: 'on a node that is not Ready', ready: { status: 'Unknown', at: '2026-01-01T10:00:00Z' } },
  { what: 'that is no startup taint', ready: { status: 'True', at: '2026-01-01T10:00:00Z' }, key: 'dedicated' },
])('does not name a taint $what', ({ ready: { status, at }, key = TAINT.key }) => {
  const lines = linesOf({ status, lastTransitionTime: at }, [{ ...TAINT, key }]);
  expect(lines.filter((line) => line.includes('startup'))).toEqual([]);
});

it('names the TaintPolicies that it omits, because no usable spec of them is known', () => {
  const view = (kind: PolicyKind, generation: number) =>
    viewPolicy(kind, { metadata: { name: 'p', uid: 'u', generation, resourceVersion: '1' }, spec: { mode: 'Never' } });
  const known = viewPolicy('TaintPolicy', {
    metadata: { name: 'p', uid: 'u', generation: 1, resourceVersion: '1' },
    spec: { mode: 'Deny', taints: [{ key: 'a' }] },
  }).inForce;
  const ready = { status: 'True', lastTransitionTime: '2026-01-01T11:50:00Z' };
  const notes = (...policies: ReturnType<typeof view>[]) =>
    linesOf(ready, [], policies).filter((line) => line.startsWith('note: '));

  expect(notes(view('TaintPolicy', 2), view('TolerationPolicy', 2))).toEqual([
    expect.stringMatching(
      /^note: TaintPolicy p is left out here: generation 2 cannot be used: .*spec\.mode: expected Deny/,
    ),
  ]);
  expect(notes({ ...view('TaintPolicy', 2), inForce: known })).toEqual([]);

  const next = (...policies: ReturnType<typeof view>[]) =>
    formatNode(explainNode({ metadata: { name: 'n1' }, spec: {} }, 'n1', { ...FACTS, policies })).next;
  expect(next(view('TaintPolicy', 2))).toMatchObject({ command: 'taintkeeper doctor' });
  expect(next(view('TolerationPolicy', 2))).toEqual({ note: 'nothing: no required taint is missing' });
});
