import { afterEach, beforeEach, describe, expect, it, onTestFinished, vi } from 'vitest';
import type { ApiClient } from '../../../../src/cluster/client/api-client.ts';
import { type ClusterNode, projectNode } from '../../../../src/cluster/objects/cluster-objects.ts';
import type { Change, Entry } from '../../../../src/cluster/watch/cached-objects.ts';
import { startRemainingStartupTaints } from '../../../../src/controllers/remaining-startup-taints/remaining-startup-taints.ts';
import type { RecordedEvent } from '../../../../src/policy/reporting/recorded-event.ts';
import { createSubject } from '../../../../src/runtime/source.ts';
import { captureLog } from '../../captured-log.ts';
import { type Policies, rule } from '../../judge/node-drifts.ts';
import { policySet } from '../../policy/policies.ts';
import { runOf } from '../run.ts';

const NOW = Date.parse('2026-01-01T12:00:00Z');
const MINUTE_MS = 60_000;
beforeEach(() => {
  vi.useFakeTimers({ now: NOW });
});
afterEach(() => {
  vi.useRealTimers();
});
const pass = (minutes: number) => vi.advanceTimersByTimeAsync(minutes * MINUTE_MS);
const minutesAgo = (minutes: number) => new Date(NOW - minutes * MINUTE_MS).toISOString();

const AGENT = { key: 'example.com/agent-not-ready', effect: 'NoSchedule' };
const OTHER = { key: 'dedicated', value: 'gpu', effect: 'NoSchedule' };

function nodeObject({ taints = [AGENT] as object[], ready = 'True', readyMinutes = 1, writtenMinutes = 60 } = {}) {
  const fieldsV1 = { 'f:spec': { 'f:taints': {} } };
  return {
    metadata: {
      name: 'n1',
      creationTimestamp: minutesAgo(60),
      managedFields: [{ manager: 'pool', operation: 'Update', time: minutesAgo(writtenMinutes), fieldsV1 }],
    },
    spec: { taints },
    status: { conditions: [{ type: 'Ready', status: ready, lastTransitionTime: minutesAgo(readyMinutes) }] },
  };
}

const PREPARING = { key: 'example.com/preparing', effect: 'NoSchedule' } as const;
const OURS = rule('Restore', { ...PREPARING, ensure: 'AtRegistration' });
const ALWAYS = rule('Restore', { ...PREPARING, ensure: 'Always' });
const ELSEWHERE = { ...OURS, nodeSelector: { matchLabels: { pool: 'gpu' } } };
const readyWhen = { daemonSets: [{ namespace: 'kube-system', name: 'cni' }] };
const UNTIL_READY = rule('Restore', { ...PREPARING, ensure: 'UntilReady', readyWhen });

function start(policies: Policies = {}) {
  let compiled = policySet({ taint: policies });
  const policyChanges = createSubject();
  const changes = createSubject<Change<ClusterNode>>();
  const entries = new Map<string, Entry<ClusterNode>>();
  const events: RecordedEvent[] = [];
  const stopping = new AbortController();
  const { log, lines } = captureLog();
  let errors = 0;
  let object: object | undefined = {};
  const request = async () => {
    if (object === undefined) throw new Error('no answer');
    return object;
  };
  const controller = startRemainingStartupTaints(
    runOf(stopping, log, { reconciled: (_name, result) => void (result === 'error' && errors++) }),
    {
      client: { now: () => new Date(), request } as unknown as ApiClient,
      nodes: { get: (name) => entries.get(name), entries: () => entries.values(), changes, news: createSubject() },
      policies: { snapshot: () => ({ policies: [], compiled, versions: new Set() }), changes: policyChanges },
      recordEvent: (event) => events.push(event),
    },
  );
  onTestFinished(async () => {
    stopping.abort();
    await controller.stop();
  });
  const see = async (next: object, uid = 'u1') => {
    object = next;
    const entry = { namespace: '', name: 'n1', uid, resourceVersion: '1', value: projectNode(next) };
    entries.set('n1', entry);
    changes.next({ type: 'added', entry });
    await pass(0);
  };
  const remove = async (next: object, uid = 'u1') => {
    entries.delete('n1');
    const entry = { namespace: '', name: 'n1', uid, resourceVersion: '1', value: projectNode(next) };
    changes.next({ type: 'deleted', entry });
    await pass(0);
  };
  const setPolicies = async (next: Policies) => {
    compiled = policySet({ taint: next });
    policyChanges.next();
    await pass(0);
  };
  return {
    see,
    remove,
    /** From now on, the API server answers no request. */
    fail() {
      object = undefined;
    },
    setPolicies,
    errors: () => errors,
    notes: () => events.map(({ note }) => note),
    events,
    logged: () => lines().map(({ msg }) => msg),
  };
}

describe('a startup taint on a Ready node', () => {
  it('is reported once, after 15 minutes, with its last writer', async () => {
    const { see, events, logged } = start();
    await see(nodeObject());
    await pass(13);
    expect(events).toEqual([]);
    await pass(2);
    expect(events).toEqual([
      {
        regarding: { apiVersion: 'v1', kind: 'Node', name: 'n1', uid: 'u1' },
        type: 'Warning',
        reason: 'StartupTaintRemains',
        action: 'ReportTaint',
        note: 'startup taint example.com/agent-not-ready:NoSchedule has been on the Ready node for 15 minutes, last written by field manager "pool" (Update)',
      },
    ]);
    await see(nodeObject());
    await pass(60);
    expect(events).toHaveLength(1);
    expect(logged()).toEqual([`Node n1: ${events[0]?.note}`]);
  });

  it('is reported at once where it has been there for longer', async () => {
    const { see, notes } = start();
    await see(nodeObject({ readyMinutes: 30 }));
    expect(notes()).toEqual([expect.stringContaining('for 30 minutes')]);
  });

  it('is not reported after it was removed in time', async () => {
    const { see, notes } = start();
    await see(nodeObject());
    await pass(13);
    await see(nodeObject({ taints: [OTHER] }));
    await pass(60);
    expect(notes()).toEqual([]);
  });

  it.each([
    { what: 'the taints were written later', node: nodeObject({ readyMinutes: 60, writtenMinutes: 5 }) },
    { what: 'the node is not Ready', node: nodeObject({ ready: 'False', readyMinutes: 60 }) },
    { what: 'it is another taint', node: nodeObject({ taints: [OTHER], readyMinutes: 60 }) },
  ])('is not reported yet where $what', async ({ node }) => {
    const { see, notes } = start();
    await see(node);
    await pass(9);
    expect(notes()).toEqual([]);
  });

  it.each<{ what: string; taints: object[]; policy: Policies[string]; reported: boolean }>([
    { what: 'that a policy sets at registration', taints: [PREPARING], policy: OURS, reported: true },
    { what: 'that waits for its own deadline', taints: [PREPARING], policy: UNTIL_READY, reported: false },
    { what: 'of a policy for other nodes', taints: [PREPARING], policy: ELSEWHERE, reported: false },
    { what: 'of a policy in mode Audit', taints: [PREPARING], policy: { ...OURS, mode: 'Audit' }, reported: false },
    { what: 'that a policy has nodes keep', taints: [PREPARING], policy: ALWAYS, reported: false },
    { what: 'with another effect', taints: [{ ...PREPARING, effect: 'NoExecute' }], policy: OURS, reported: false },
  ])('$what: reported $reported, also if the policy is there later', async ({ taints, policy, reported }) => {
    const expected = reported
      ? [expect.stringContaining('startup taint example.com/preparing:NoSchedule has been')]
      : [];
    const before = start({ p: policy });
    await before.see(nodeObject({ taints, readyMinutes: 30 }));
    expect(before.notes()).toEqual(expected);
    const after = start();
    await after.see(nodeObject({ taints, readyMinutes: 30 }));
    expect(after.notes()).toEqual([]);
    await after.setPolicies({ p: policy });
    expect(after.notes()).toEqual(expected);
  });

  it('is reported at once for another node of the name, whatever the pause after many failures with the deleted one', async () => {
    const { see, remove, fail, notes, errors } = start();
    await see(nodeObject({ readyMinutes: 14 }));
    fail();
    await pass(3);
    const before = errors();
    // From the failure on, the next pause is 15 s at least.
    while (errors() === before) await vi.advanceTimersByTimeAsync(100);
    await vi.advanceTimersByTimeAsync(200);
    await remove(nodeObject());
    await see(nodeObject({ readyMinutes: 30 }), 'u2');
    expect(notes()).toHaveLength(1);
  });

  it('is reported again for another node of the name', async () => {
    const { see, notes } = start();
    await see(nodeObject({ readyMinutes: 30 }));
    await see(nodeObject({ readyMinutes: 30 }), 'u2');
    expect(notes()).toHaveLength(2);
  });
});
