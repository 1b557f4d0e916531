import { once } from 'node:events';
import { createServer } from 'node:https';
import type { AddressInfo } from 'node:net';
import { join } from 'node:path';
import { json } from 'node:stream/consumers';
import { setTimeout as delay } from 'node:timers/promises';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { decodeReview } from '../../src/admission/admission-review.ts';
import { judgeRequest } from '../../src/admission/judge-request.ts';
import { eventsOf } from '../../src/admission/request-events.ts';
import { objectToCreate } from '../../src/admission/request-object.ts';
import { answer } from '../../src/admission/response.ts';
import { type ApiClient, connect } from '../../src/cluster/client/api-client.ts';
import { type Creations, followCreations } from '../../src/cluster/events/creations.ts';
import { createEventRecorder, type EventRecorder } from '../../src/cluster/events/event-recorder.ts';
import { EVENT_TIMINGS } from '../../src/cluster/events/event-timings.ts';
import { parsePolicy } from '../../src/policy/policy.ts';
import { compilePolicies } from '../../src/policy/policy-set.ts';
import type { RecordedEvent } from '../../src/policy/reporting/recorded-event.ts';
import { createAuthority } from '../control-plane/credentials.ts';
import { describeWithControlPlane } from '../control-plane/describe-with-control-plane.ts';
import { admin } from '../control-plane/users.ts';
import { waitUntil } from '../control-plane/wait-until.ts';
import { registerWebhook, unregisterWebhook } from '../control-plane/webhook.ts';
import { LONGEST_WAIT_MS } from '../longest-wait.ts';
import { captureLog } from '../unit/captured-log.ts';
import { GPU, path } from './nodes.ts';

const CRDS = join(import.meta.dirname, '..', '..', 'manifests', 'chart', 'files', 'crds');

const policy = (kind: string, name: string, spec: object) => ({
  apiVersion: 'taintkeeper.dev/v1alpha1',
  kind,
  metadata: { name },
  spec,
});
const POLICIES = [
  policy('TaintPolicy', 'gpu', { mode: 'Deny', taints: [{ key: 'dedicated' }] }),
  policy('TolerationPolicy', 'cni', { mode: 'Mutate', daemonSets: { namespaces: ['kube-system'] } }),
];

/** An Event as far as the tests look at it. */
interface StoredEvent {
  metadata: { name: string; namespace: string };
  regarding: { kind: string; name: string; uid?: string };
  reason: string;
  note: string;
  series?: { count: number };
}

describeWithControlPlane('Events', {}, (cp) => {
  const log = captureLog('debug');
  const recorders: EventRecorder[] = [];
  let client: ApiClient;
  let count = 0;

  beforeAll(async () => {
    client = await connect({ kubeconfig: await cp().kubeconfigFile(admin), userAgent: 'events.test' });
    const applied = await cp().kubectl(['apply', '-f', CRDS]);
    expect(applied.code, applied.stderr).toBe(0);
    await waitUntil(
      async () => {
        const input = POLICIES.map((object) => JSON.stringify(object)).join('\n---\n');
        return (await cp().kubectl(['apply', '-f', '-'], { input })).code === 0 || undefined;
      },
      { timeoutMs: 15_000, otherwise: () => 'the API server does not serve the policies' },
    );
  });
  afterAll(async () => {
    await Promise.all(recorders.map((recorder) => recorder.stop()));
    client?.close();
  });

  function newRecorder(timings: { patchIntervalMs?: number; settleMs?: number; burst?: number } = {}): EventRecorder {
    const recorder = createEventRecorder({ client, identity: 'pod-1', log: log.log, timings });
    recorders.push(recorder);
    return recorder;
  }

  async function createNode(taints = [GPU]): Promise<string> {
    const name = `n${++count}`;
    const { status } = await cp().request(admin, 'POST', '/api/v1/nodes', {
      body: { metadata: { name }, spec: { taints } },
    });
    expect(status).toBe(201);
    return name;
  }

  async function uidOf(name: string): Promise<string> {
    return (await cp().request<{ metadata: { uid: string } }>(admin, 'GET', path(name))).body.metadata.uid;
  }

  async function eventsAbout(name: string, namespace = 'default'): Promise<StoredEvent[]> {
    const { body } = await cp().request<{ items: StoredEvent[] }>(
      admin,
      'GET',
      `/apis/events.k8s.io/v1/namespaces/${namespace}/events`,
    );
    return body.items.filter(({ regarding }) => regarding.name === name);
  }

  /** What `kubectl describe` shows under Events. */
  async function described(...object: string[]): Promise<string> {
    const { code, stdout, stderr } = await cp().kubectl(['describe', ...object]);
    expect(code, stderr).toBe(0);
    return stdout.slice(stdout.indexOf('Events:'));
  }

  const showing = (object: string[], text: string) =>
    waitUntil(
      async () => {
        const shown = await described(...object);
        return shown.includes(text) ? shown : undefined;
      },
      {
        // Longer than until the third read of a created object, 14 s after the answer.
        timeoutMs: LONGEST_WAIT_MS,
        otherwise: () => `kubectl describe ${object.join(' ')} does not show: ${text}\n${log.text()}`,
      },
    );

  const onNode = (name: string, uid?: string): RecordedEvent => ({
    regarding: { apiVersion: 'v1', kind: 'Node', name, ...(uid ? { uid } : {}) },
    type: 'Warning',
    reason: 'TaintRemovalDenied',
    action: 'DenyRequest',
    note: 'TaintPolicy gpu refused the removal of taint dedicated=gpu:NoSchedule',
  });

  describe('of real requests', () => {
    let server: ReturnType<typeof createServer>;
    let creations: Creations;
    /** How long a review of the phase that comes last takes: the object is stored afterwards. */
    let validateMs = 0;

    beforeAll(async () => {
      const recorder = newRecorder();
      creations = followCreations({ client, log: log.log });
      const policies = compilePolicies(
        POLICIES.map((object) => {
          const result = parsePolicy(object);
          if (!result.ok) throw new Error(JSON.stringify(result.problems));
          return result.policy;
        }),
      );
      const authority = await createAuthority();
      server = createServer(await authority.serving(), async (incoming, outgoing) => {
        const review = decodeReview(await json(incoming));
        if (!review.ok) throw new Error(review.message);
        const phase = incoming.url?.startsWith('/mutate') ? 'mutate' : 'validate';
        const judgement = judgeRequest(review.request, phase, policies);
        if (phase === 'validate') await delay(validateMs);
        const object = objectToCreate(review.request, judgement);
        const record = (createdUid?: string) => {
          for (const event of eventsOf(review.request, judgement, createdUid)) recorder.record(event);
        };
        if (object) creations.follow({ object, record: phase, origin: '' }, record);
        else record();
        outgoing.setHeader('content-type', 'application/json');
        outgoing.end(JSON.stringify(answer(review.request.uid, judgement)));
      }).listen(0, '127.0.0.1');
      await once(server, 'listening');
      const url = `https://127.0.0.1:${(server.address() as AddressInfo).port}`;
      await registerWebhook(cp(), { url, caBundle: Buffer.from(authority.cert).toString('base64') });
    });
    afterAll(async () => {
      await unregisterWebhook(cp());
      server?.close();
      server?.closeAllConnections();
      await creations?.stop();
    });

    it('kubectl describe shows a refusal on the node and on the policy', async () => {
      const name = await createNode();
      expect((await cp().kubectl(['taint', 'node', name, 'dedicated-'])).code).toBe(1);
      const onTheNode = await showing(['node', name], 'TaintRemovalDenied');
      expect(onTheNode).toMatch(
        /Warning +TaintRemovalDenied .* taintkeeper\.dev\/taintkeeper +TaintPolicy gpu refused the removal of taint dedicated=gpu:NoSchedule \(user admin\)/,
      );
      await showing(['taintpolicy', 'gpu'], `Node ${name}: refused the removal of taint dedicated=gpu:NoSchedule`);
    });

    it.each([
      { what: 'a DaemonSet that had no uid yet', name: 'cni', storedAfterMs: 0 },
      { what: 'a DaemonSet that was stored after the first read', name: 'slow', storedAfterMs: 1_500 },
    ])('kubectl describe shows what was added on $what, and on the policy', async ({ name, storedAfterMs }) => {
      const template = { metadata: { labels: { app: name } }, spec: { containers: [{ name: 'cni', image: 'cni' }] } };
      const body = {
        metadata: { name, namespace: 'kube-system' },
        spec: { selector: { matchLabels: { app: name } }, template },
      };
      validateMs = storedAfterMs;
      const { status } = await cp().request(admin, 'POST', '/apis/apps/v1/namespaces/kube-system/daemonsets', { body });
      validateMs = 0;
      expect(status).toBe(201);
      const shown = await showing(['ds', '-n', 'kube-system', name], 'TolerationAdded');
      expect(shown).toContain('TolerationPolicy cni added toleration node-role.kubernetes.io/master:NoSchedule');
      await showing(['tolerationpolicy', 'cni'], `DaemonSet kube-system/${name}: added toleration`);
    });

    it('a dry run leaves none', async () => {
      const name = await createNode();
      const { code } = await cp().kubectl(['taint', 'node', name, 'dedicated-', '--dry-run=server']);
      expect(code).toBe(1);
      // The second one is real, and comes later.
      await cp().kubectl(['taint', 'node', name, 'dedicated-']);
      await showing(['node', name], 'TaintRemovalDenied');
      expect((await eventsAbout(name)).map(({ series }) => series)).toEqual([undefined]);
    });
  });

  it.each([
    { what: 'by its uid', uid: uidOf },
    { what: 'by its name, if the caller gives no uid', uid: async () => undefined },
  ])('kubectl describe finds the Events of a node: $what', async ({ uid }) => {
    const name = await createNode();
    newRecorder().record(onNode(name, await uid(name)));
    await showing(['node', name], 'TaintRemovalDenied');
    expect(await eventsAbout(name)).toMatchObject([{ regarding: { uid: await uidOf(name) } }]);
  });

  it('kubectl describe finds the Events of a node that was not there to be looked up', async () => {
    const name = `n${count + 1}`;
    newRecorder({ settleMs: 0 }).record(onNode(name));
    await waitUntil(async () => (await eventsAbout(name))[0], {
      timeoutMs: LONGEST_WAIT_MS,
      otherwise: () => log.text(),
    });
    await createNode();
    expect(await described('node', name)).toContain('TaintRemovalDenied');
  });

  it('equal events are one Event, whose count grows and is right in the end', async () => {
    const name = await createNode();
    const recorder = newRecorder({ patchIntervalMs: 300, settleMs: 100 });
    for (let n = 0; n < 20; n++) recorder.record(onNode(name, 'uid-x'));
    const [first] = await waitUntil(
      async () => {
        const found = await eventsAbout(name);
        return found.length > 0 ? found : undefined;
      },
      { timeoutMs: LONGEST_WAIT_MS, otherwise: log.text },
    );
    expect(first?.series?.count).toBe(20);
    for (let n = 0; n < 20; n++) recorder.record(onNode(name, 'uid-x'));
    await waitUntil(async () => ((await eventsAbout(name))[0]?.series?.count === 40 ? true : undefined), {
      timeoutMs: LONGEST_WAIT_MS,
      otherwise: () => log.text(),
    });
    recorder.record(onNode(name, 'uid-x'));
    await recorder.stop();
    expect(await eventsAbout(name)).toMatchObject([{ series: { count: 41 } }]);
  });

  it('a flood of 5,000 events makes a bounded number of writes', async () => {
    // Nobody else writes meanwhile.
    await Promise.all(recorders.map((recorder) => recorder.stop()));
    const before = await eventWrites();
    const began = performance.now();
    const recorder = newRecorder();
    for (let n = 0; n < 5_000; n++) recorder.record(onNode(`flooded-${n % 2_500}`, `uid-${n % 2_500}`));
    await waitUntil(async () => (await eventWrites()) - before >= EVENT_TIMINGS.burst || undefined, {
      timeoutMs: LONGEST_WAIT_MS,
      otherwise: () => 'not even the burst is written',
    });
    await recorder.stop();
    const writes = (await eventWrites()) - before;
    // The burst, and one more for each two seconds that it took.
    const more = Math.floor((performance.now() - began) / EVENT_TIMINGS.refillMs);
    expect(writes).toBeLessThanOrEqual(EVENT_TIMINGS.burst + more);
    const { body } = await cp().request<{ items: StoredEvent[] }>(admin, 'GET', '/apis/events.k8s.io/v1/events');
    const shown = body.items.filter(({ regarding }) => regarding.name.startsWith('flooded-'));
    expect(recorder.dropped()).toBe(5_000 - shown.reduce((sum, { series }) => sum + (series?.count ?? 1), 0));
  });

  /** POST and PATCH of Events, from the API server's own metrics. */
  async function eventWrites(): Promise<number> {
    const { body } = await cp().request<string>(admin, 'GET', '/metrics');
    const lines = body.matchAll(
      /^apiserver_request_total\{[^}]*group="events\.k8s\.io"[^}]*resource="events"[^}]*verb="(?:POST|PATCH)"[^}]*\} (\S+)$/gm,
    );
    return [...lines].reduce((sum, [, value]) => sum + Number(value), 0);
  }

  it('the recorder does not retry in a namespace that is being deleted, and logs no warning', async () => {
    const body = { metadata: { name: 'going', finalizers: [] }, spec: { finalizers: ['kubernetes'] } };
    await cp().request(admin, 'POST', '/api/v1/namespaces', { body });
    await cp().request(admin, 'DELETE', '/api/v1/namespaces/going');
    const recorder = newRecorder({ settleMs: 0 });
    const lines = log.lines().length;
    recorder.record({
      ...onNode('x'),
      regarding: { apiVersion: 'apps/v1', kind: 'DaemonSet', namespace: 'going', name: 'x', uid: 'y' },
    });
    await waitUntil(() => recorder.dropped() || undefined, {
      timeoutMs: LONGEST_WAIT_MS,
      otherwise: () => 'the Event was kept',
    });
    expect(log.lines().slice(lines)).toMatchObject([{ level: 20 }]);
  });

  it('the longest texts are taken', async () => {
    const recorder = newRecorder({ settleMs: 0 });
    const name = `a${'b'.repeat(61)}.`.repeat(4).slice(0, 253).replace(/\.$/, 'c');
    recorder.record({ ...onNode(name, 'u'), note: 'ü\n'.repeat(3_000) });
    await waitUntil(async () => (await eventsAbout(name))[0], { timeoutMs: LONGEST_WAIT_MS, otherwise: log.text });
  });
});
