import { once } from 'node:events';
import { request as httpRequest, type IncomingMessage } from 'node:http';
import { Agent, request } from 'node:https';
import { json } from 'node:stream/consumers';
import { afterAll, beforeAll, expect, it } from 'vitest';
import type { PageDecision } from '../../src/page/state.ts';
import { MERGE_PATCH } from '../control-plane/content-types.ts';
import { describeWithControlPlane } from '../control-plane/describe-with-control-plane.ts';
import { admin, developer, node } from '../control-plane/users.ts';
import { waitUntil } from '../control-plane/wait-until.ts';
import { readEvents } from '../unit/page/streams.ts';
import { CONTROL_PLANE_TAINT, type Installation, install, waitUntilProtected } from './installation.ts';
import { attempt, path } from './nodes.ts';

/** A forger has its own address on loopback; the API server calls from 127.0.0.1. */
const FORGERS_ADDRESS = '127.0.0.2';
const AT_ONCE = 50;
const EVENT_TIMEOUT_MS = 60_000;
const FLOOD_TIMEOUT_MS = 120_000;

interface StoredEvent {
  readonly regarding: { readonly kind: string; readonly name: string; readonly uid?: string };
  readonly reason: string;
  readonly note: string;
  readonly reportingController: string;
}

describeWithControlPlane('reviews that a pod has forged', {}, (cp) => {
  let installation: Installation;
  const agent = new Agent({ keepAlive: true, maxSockets: AT_ONCE, localAddress: FORGERS_ADDRESS });

  beforeAll(async () => {
    installation = await install(cp());
    await installation.start(['a']);
    await createNode('cp-1');
    await createNode('cp-2');
    await waitUntilProtected(cp(), 'cp-1');
  });
  afterAll(async () => {
    agent.destroy();
    await installation?.stop();
  });

  async function createNode(name: string): Promise<void> {
    const body = { metadata: { name }, spec: { taints: [CONTROL_PLANE_TAINT] } };
    expect((await cp().request(node(name), 'POST', '/api/v1/nodes', { body })).status).toBe(201);
  }

  async function uidOf(name: string): Promise<string> {
    return (await cp().request<{ metadata: { uid: string } }>(admin, 'GET', path(name))).body.metadata.uid;
  }

  async function forge(review: object, endpoint = 'validate'): Promise<{ allowed: boolean }> {
    const headers = { 'content-type': 'application/json' };
    const url = `${installation.replica('a').url}/${endpoint}`;
    const outgoing = request(url, { method: 'POST', headers, agent, rejectUnauthorized: false });
    outgoing.end(JSON.stringify({ apiVersion: 'admission.k8s.io/v1', kind: 'AdmissionReview', request: review }));
    const [response] = (await once(outgoing, 'response')) as [IncomingMessage];
    expect(response.statusCode).toBe(200);
    return ((await json(response)) as { response: { allowed: boolean } }).response;
  }

  /** A review of an update that removes the protected taint. */
  function removal(name: string, uid: string, username = 'forged'): object {
    const withTaints = (taints: object[]) => ({ metadata: { name, uid }, spec: { taints } });
    return {
      uid: 'forged',
      resource: { group: '', version: 'v1', resource: 'nodes' },
      ...{ name, operation: 'UPDATE', userInfo: { username, groups: [] } },
      ...{ object: withTaints([]), oldObject: withTaints([CONTROL_PLANE_TAINT]) },
    };
  }

  async function removeAs(name: string): Promise<void> {
    const { passed } = await attempt(cp(), developer, 'PATCH', path(name), { spec: { taints: null } }, MERGE_PATCH);
    expect(passed).toBe(false);
  }

  async function events(): Promise<StoredEvent[]> {
    const { body } = await cp().request<{ items: StoredEvent[] }>(admin, 'GET', '/apis/events.k8s.io/v1/events');
    return body.items.filter(({ reportingController }) => reportingController === 'taintkeeper.dev/taintkeeper');
  }

  function waitForDenial(name: string): Promise<StoredEvent> {
    const isDenial = ({ regarding, note }: StoredEvent) =>
      regarding.kind === 'Node' && regarding.name === name && note.includes(developer.name);
    return waitUntil(async () => (await events()).find(isDenial), {
      timeoutMs: EVENT_TIMEOUT_MS,
      otherwise: () => `there is no Event of the denial on ${name}`,
    });
  }

  /** What a reader who opens the page finds there. */
  async function decisionsOnPage(): Promise<PageDecision[]> {
    const outgoing = httpRequest(`${installation.replica('a').adminUrl}/api/events`, { agent: false });
    outgoing.end();
    const [response] = (await once(outgoing, 'response')) as [IncomingMessage];
    const found: PageDecision[] = [];
    try {
      for await (const { type, data } of readEvents(response)) {
        if (type !== 'decision') continue;
        const decision = JSON.parse(data) as PageDecision;
        found.push(decision);
        if (decision.uid === 'last') return found;
      }
    } finally {
      response.destroy();
    }
    throw new Error('the stream has ended');
  }

  it('about a node that does not exist, exists with another uid, or was created before leave no Event', async () => {
    const uid = await uidOf('cp-1');
    expect(await forge(removal('ghost', 'made-up'))).toMatchObject({ allowed: false });
    expect(await forge(removal('cp-2', 'made-up', 'forged-uid'))).toMatchObject({ allowed: false });
    const unlabelled = {
      metadata: { name: 'cp-2', labels: { 'node-role.kubernetes.io/control-plane': '' } },
      spec: {},
    };
    await forge({ ...removal('cp-2', ''), operation: 'CREATE', object: unlabelled, oldObject: null }, 'mutate');
    await removeAs('cp-1');

    expect((await waitForDenial('cp-1')).regarding.uid).toBe(uid);
    const denials = await waitUntil(
      async () => {
        const found = (await events()).filter(({ reason }) => reason === 'TaintRemovalDenied');
        return found.some(({ regarding }) => regarding.kind === 'TaintPolicy') ? found : undefined;
      },
      { timeoutMs: EVENT_TIMEOUT_MS, otherwise: () => 'the policy has no Event' },
    );
    expect(denials.filter(({ note }) => !note.includes(developer.name))).toEqual([]);
    expect((await events()).filter(({ regarding }) => ['ghost', 'cp-2'].includes(regarding.name))).toEqual([]);
  });

  it('of thousands of users and objects push out neither the Event of a denial nor its line on the page', {
    timeout: FLOOD_TIMEOUT_MS,
  }, async () => {
    const flood = async (count: number) => {
      for (let sent = 0; sent < count; sent += AT_ONCE) {
        const reviews = Array.from({ length: AT_ONCE }, (_, n) =>
          removal(`ghost-${sent + n}`, `u-${n}`, `user-${sent + n}`),
        );
        await Promise.all(reviews.map((review) => forge(review)));
      }
    };
    await flood(1_000);
    await removeAs('cp-2');
    await flood(4_000);
    await forge({ ...removal('ghost', 'u'), uid: 'last' });

    const real = (await decisionsOnPage()).filter(({ user }) => user === developer.name);
    expect(real.map(({ name }) => name)).toContain('cp-2');
    expect((await waitForDenial('cp-2')).regarding.uid).toBe(await uidOf('cp-2'));
    expect((await events()).filter(({ regarding }) => regarding.name.startsWith('ghost'))).toEqual([]);
  });
});
