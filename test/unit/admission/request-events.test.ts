import { describe, expect, it } from 'vitest';
import type { AdmissionRequest } from '../../../src/admission/admission-review.ts';
import { judgeRequest } from '../../../src/admission/judge-request.ts';
import { eventsOf } from '../../../src/admission/request-events.ts';
import type { Phase } from '../../../src/judge/decision.ts';
import type { PolicySet } from '../../../src/policy/policy-set.ts';
import type { RecordedEvent } from '../../../src/policy/reporting/recorded-event.ts';
import { policySet } from '../policy/policies.ts';
import { daemonSetRequest, nodeRequest } from './requests.ts';

const GPU = { key: 'dedicated', value: 'gpu', effect: 'NoSchedule' };
const RELEASE = { 'taintkeeper.dev/allow-removal': 'dedicated=gpu:NoSchedule' };
const node = (taints: object[], metadata: object = {}) => ({
  metadata: { name: 'n1', uid: 'uid-1', ...metadata },
  spec: { taints },
});
const daemonSet = (metadata: object = { name: 'cni', uid: 'uid-2' }) => ({
  metadata,
  spec: { template: { spec: {} } },
});
const DROP = nodeRequest({ object: node([]), oldObject: node([GPU]) });

const protect = (mode: 'Deny' | 'Restore' | 'Audit', more: object = {}) =>
  policySet({ taint: { p: { mode, taints: [{ key: 'dedicated' }], ...more } } });
/** With --audit. */
const audited = (mode: 'Deny' | 'Restore') =>
  policySet({ taint: { p: { mode, taints: [{ key: 'dedicated' }] } } }, { audit: true });
const present = (mode: 'Restore' | 'Audit') =>
  policySet({ taint: { p: { mode, taints: [{ ...GPU, effect: 'NoSchedule', ensure: 'Always' }] } } });
const tolerations = (mode: 'Mutate' | 'Audit') =>
  policySet({ toleration: { cni: { mode, daemonSets: { namespaces: ['kube-system'] } } } });

function found(request: AdmissionRequest, policies: PolicySet, phase: Phase, createdUid?: string): RecordedEvent[] {
  return eventsOf(request, judgeRequest(request, phase, policies), createdUid);
}

const POLICY = { apiVersion: 'taintkeeper.dev/v1alpha1', kind: 'TaintPolicy', name: 'p' };
const NODE = { apiVersion: 'v1', kind: 'Node', name: 'n1', uid: 'uid-1' };

it.each<{
  outcome: string;
  request: AdmissionRequest;
  policies: PolicySet;
  phase: Phase;
  type: string;
  reason: string;
  said: string;
}>([
  {
    outcome: 'denied',
    request: DROP,
    policies: protect('Deny'),
    phase: 'validate',
    type: 'Warning',
    reason: 'TaintRemovalDenied',
    said: 'refused the removal of taint dedicated=gpu:NoSchedule (user dev)',
  },
  {
    outcome: 'restored',
    request: DROP,
    policies: protect('Restore'),
    phase: 'mutate',
    type: 'Normal',
    reason: 'TaintRestored',
    said: 'restored taint dedicated=gpu:NoSchedule (user dev)',
  },
  {
    outcome: 'audited',
    request: DROP,
    policies: protect('Audit'),
    phase: 'validate',
    type: 'Warning',
    reason: 'TaintRemoved',
    said: 'in mode Audit, allowed the removal of taint dedicated=gpu:NoSchedule (user dev)',
  },
  {
    outcome: 'allowed by exemption',
    request: DROP,
    policies: protect('Deny', { exempt: { users: ['dev'] } }),
    phase: 'mutate',
    type: 'Normal',
    reason: 'TaintRemoved',
    said: 'allowed an exempt user to remove taint dedicated=gpu:NoSchedule (user dev)',
  },
  {
    outcome: 'allowed by annotation',
    request: nodeRequest({ object: node([]), oldObject: node([GPU], { annotations: RELEASE }) }),
    policies: protect('Deny'),
    phase: 'validate',
    type: 'Normal',
    reason: 'TaintRemoved',
    said: 'allowed, by annotation, the removal of taint dedicated=gpu:NoSchedule (user dev)',
  },
  {
    outcome: 'would deny',
    request: DROP,
    policies: audited('Deny'),
    phase: 'validate',
    type: 'Warning',
    reason: 'TaintRemoved',
    said: 'would refuse, without --audit, the removal of taint dedicated=gpu:NoSchedule (user dev)',
  },
  {
    outcome: 'would restore',
    request: DROP,
    policies: audited('Restore'),
    phase: 'validate',
    type: 'Warning',
    reason: 'TaintRemoved',
    said: 'would restore, without --audit, the removed taint dedicated=gpu:NoSchedule (user dev)',
  },
])('$outcome is shown on the node and on the policy', ({ request, policies, phase, type, reason, said }) => {
  expect(found(request, policies, phase)).toEqual([
    { regarding: NODE, reviewed: NODE, type, reason, action: expect.any(String), note: `TaintPolicy p ${said}` },
    { regarding: POLICY, reviewed: NODE, type, reason, action: expect.any(String), note: `Node n1: ${said}` },
  ]);
});

describe('the creation of a node', () => {
  const creation = nodeRequest({ object: node([], { uid: 'made-up' }) });
  it.each<{ outcome: string; policies: PolicySet; phase: Phase; reason: string; said: string }>([
    {
      outcome: 'added',
      policies: present('Restore'),
      phase: 'mutate',
      reason: 'TaintAdded',
      said: 'added taint dedicated=gpu:NoSchedule (user dev)',
    },
    {
      outcome: 'missing',
      policies: present('Restore'),
      phase: 'validate',
      reason: 'TaintMissing',
      said: 'reports missing taint dedicated=gpu:NoSchedule',
    },
    {
      outcome: 'audited',
      policies: present('Audit'),
      phase: 'validate',
      reason: 'TaintMissing',
      said: 'in mode Audit, reports missing taint dedicated=gpu:NoSchedule',
    },
  ])('$outcome: is about the node that was created, and nothing has to confirm it', (options) => {
    const { policies, phase, reason, said } = options;
    const [onNode, onPolicy] = found(creation, policies, phase, 'uid-1');
    expect(onNode).toMatchObject({ reason, note: `TaintPolicy p ${said}` });
    expect([onNode?.regarding, onNode?.reviewed]).toEqual([NODE, undefined]);
    expect(onPolicy).toMatchObject({ regarding: POLICY, note: `Node n1: ${said}` });
    expect(onPolicy?.reviewed).toBeUndefined();
    expect(found(creation, policies, phase)).toEqual([]);
  });
});

describe('a DaemonSet', () => {
  const both = 'node-role.kubernetes.io/master:NoSchedule, node-role.kubernetes.io/control-plane:NoSchedule';

  it('gets one Event for all tolerations that one policy added, and so does the policy', () => {
    const request = daemonSetRequest({ object: daemonSet({ name: 'cni' }) });
    const regarding = { apiVersion: 'apps/v1', kind: 'DaemonSet', namespace: 'kube-system', name: 'cni', uid: 'uid-2' };
    expect(found(request, tolerations('Mutate'), 'mutate', 'uid-2')).toEqual([
      {
        regarding,
        type: 'Normal',
        reason: 'TolerationAdded',
        action: 'AddToleration',
        note: `TolerationPolicy cni added toleration ${both} (user dev)`,
      },
      {
        regarding: { ...POLICY, kind: 'TolerationPolicy', name: 'cni' },
        type: 'Normal',
        reason: 'TolerationAdded',
        action: 'AddToleration',
        note: `DaemonSet kube-system/cni: added toleration ${both} (user dev)`,
      },
    ]);
  });

  it.each(['Mutate', 'Audit'] as const)(
    'that lacks tolerations leads to the same Events for every user who writes it: %s',
    (mode) => {
      const request = daemonSetRequest({ object: daemonSet(), oldObject: daemonSet() });
      const byAnother = { ...request, uid: 'another', userInfo: { username: 'argocd' } };
      const events = found(request, tolerations(mode), 'validate');
      expect(events).toHaveLength(2);
      expect(events[0]).toMatchObject({ type: 'Warning', reason: 'TolerationMissing', regarding: { uid: 'uid-2' } });
      expect(found(byAnother, tolerations(mode), 'validate')).toEqual(events);
    },
  );
});

it.each<[why: string, request: AdmissionRequest, policies: PolicySet, phase: Phase]>([
  [
    'a DaemonSet whose name is still to be generated',
    { ...daemonSetRequest({ object: daemonSet({ generateName: 'cni-' }) }), name: '' },
    tolerations('Mutate'),
    'mutate',
  ],
  [
    'a DaemonSet without a namespace',
    { ...daemonSetRequest({ object: daemonSet({ name: 'cni' }) }), namespace: '' },
    policySet({ toleration: { cni: { mode: 'Mutate', daemonSets: { namespaces: ['*'] } } } }),
    'mutate',
  ],
  [
    'an update of a node without a uid',
    nodeRequest({ object: node([]), oldObject: node([GPU], { uid: undefined }) }),
    protect('Deny'),
    'validate',
  ],
])('nothing could confirm %s: there is a violation and no Event', (_why, request, policies, phase) => {
  expect(judgeRequest(request, phase, policies).decision.violations).not.toEqual([]);
  expect(found(request, policies, phase, 'uid-new')).toEqual([]);
});

it('a node has no namespace, even if its review has one', () => {
  const events = found({ ...DROP, namespace: 'kube-system' }, protect('Deny'), 'validate');
  expect(events.map(({ reviewed }) => reviewed)).toEqual([NODE, NODE]);
  expect(events.map(({ note }) => note)).toContainEqual(expect.stringMatching(/^Node n1: /));
});

it('many taints result in one Event, with a note of limited length', () => {
  const taints = Array.from({ length: 50 }, (_, n) => ({ ...GPU, key: `key-${n}` }));
  const request = nodeRequest({ object: node([]), oldObject: node(taints) });
  const events = found(
    request,
    policySet({ taint: { p: { mode: 'Deny', taints: taints.map(({ key }) => ({ key })) } } }),
    'validate',
  );
  expect(events).toHaveLength(2);
  expect(events[0]?.note).toContain('key-6=gpu:NoSchedule, and 43 more (user dev)');
});

it('each policy has its own Events', () => {
  const policies = policySet({
    taint: {
      p: { mode: 'Deny', taints: [{ key: 'dedicated' }] },
      q: { mode: 'Deny', taints: [{ key: 'dedicated' }] },
    },
  });
  expect(found(DROP, policies, 'validate').map(({ regarding }) => regarding.name)).toEqual(['n1', 'p', 'n1', 'q']);
});

it.each<[why: string, request: AdmissionRequest, policies: PolicySet]>([
  ['a dry run', { ...DROP, dryRun: true }, protect('Deny')],
  ['a request without violation', nodeRequest({ object: node([GPU]), oldObject: node([GPU]) }), protect('Deny')],
  ['what no policy can be about', { ...DROP, subResource: 'status' }, protect('Deny')],
])('%s leads to none', (_why, request, policies) => {
  for (const phase of ['mutate', 'validate'] as const) expect(found(request, policies, phase)).toEqual([]);
});

it('no note contains control characters of a request', () => {
  const request = { ...DROP, name: 'n\u001B[31m', userInfo: { username: 'dev\n' } };
  for (const { note } of found(request, protect('Deny'), 'validate')) {
    // biome-ignore lint/suspicious/noControlCharactersInRegex: these are what is looked for.
    expect(note).not.toMatch(/[\u0000-\u001F]/);
  }
});
