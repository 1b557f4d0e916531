import { deepEqual, ok } from 'node:assert/strict';
import fc from 'fast-check';
import { pino } from 'pino';
import { eventsOf } from '../../src/admission/request-events.ts';
import type { ApiClient, RequestOptions } from '../../src/cluster/client/api-client.ts';
import { createEventRecorder } from '../../src/cluster/events/event-recorder.ts';
import { createDecisionLog } from '../../src/page/decision-log.ts';
import { createMetrics } from '../../src/replica/metrics.ts';
import { createAdmissionServer } from '../../src/server/admission-server.ts';
import type { JudgedRequest } from '../../src/server/reviewer.ts';
import { absent } from '../unit/cluster/client/absent.ts';
import { compiled, nodeOf, REVIEWS, reviewOf, tls } from './admission.ts';
import { hostileValue } from './hostile.ts';
import { mutatedJson } from './mutated.ts';
import { type FuzzTarget, target } from './target.ts';

/** The only object of a review that there is. */
const NODE_PATH = '/api/v1/nodes/cp-1';
const NODE_UID = '8d1ea5c5-5b3b-4a3b-9a5e-6f3a6b1c2d3e';
const CREATED = '2026-01-01T00:00:00Z';
const REAL_USER = 'somebody-real';
const REAL_UID = 'the real review';

const NAME = '[a-z0-9]([-.a-z0-9]{0,251}[a-z0-9])?';
const READS = new RegExp(
  `^/(api/v1/nodes|apis/apps/v1/namespaces/${NAME}/daemonsets|apis/taintkeeper\\.dev/v1alpha1/(taint|toleration)policies)/${NAME}$`,
);
const WRITES = new RegExp(`^/apis/events\\.k8s\\.io/v1/namespaces/${NAME}/events$`);

const MAX_DECISIONS = 8;
const MAX_EVENTS = 128;
/** The note has 1 KiB, and each name a quarter of that. */
const MAX_EVENT_CHARACTERS = 4_096;
const MAX_DECISION_CHARACTERS = 64_000;

interface WrittenEvent {
  readonly regarding: { readonly kind: string; readonly name: string; readonly uid?: string };
  readonly note: string;
}

/** An API server that has one node and all policies, takes Events, and allows nothing else to be asked of it. */
function onlyEvents() {
  const events: WrittenEvent[] = [];
  const others: string[] = [];
  const request = async (method: string, path: string, { body, query }: RequestOptions = {}): Promise<unknown> => {
    const isAllowed = method === 'GET' ? READS.test(path) : method === 'POST' && WRITES.test(path);
    if (!isAllowed || query !== undefined) others.push(`${method} ${path} ${JSON.stringify(query)}`);
    if (method === 'GET') {
      const exists = path === NODE_PATH || path.includes('policies/');
      if (!exists) throw absent(method, path);
      const uid = path === NODE_PATH ? NODE_UID : 'uid of a policy';
      return JSON.stringify({ metadata: { uid, creationTimestamp: CREATED } });
    }
    events.push(body as WrittenEvent);
    return body;
  };
  // Nothing else of a client is used.
  const client = { request, now: () => new Date() } as unknown as ApiClient;
  return { client, events, others };
}

const log = pino({ level: 'silent' });
let onJudged: (judged: JudgedRequest) => void = () => {};
const server = createAdmissionServer({
  tls,
  policies: () => compiled,
  metrics: createMetrics('fuzz'),
  log,
  onJudged: (judged) => onJudged(judged),
});

const [taint, withUid] = [
  { key: 'node-role.kubernetes.io/control-plane', effect: 'NoSchedule' },
  (uid: string, taints: object[]) => {
    const node = nodeOf(taints);
    return { ...node, metadata: { ...node.metadata, uid } };
  },
];
const REAL = reviewOf({
  uid: REAL_UID,
  name: 'cp-1',
  userInfo: { username: REAL_USER },
  ...{ object: withUid(NODE_UID, []), oldObject: withUid(NODE_UID, [taint]) },
});
/** Reviews of a node that there is, under another uid, of one that there is not, and of what the names of paths are made of. */
const FORGED = [
  ...REVIEWS,
  ...['cp-1', 'ghost', '..', '../../secrets', 'n?watch=true', '%2e%2e'].map((name) =>
    reviewOf({ name, ...{ object: withUid('made up', []), oldObject: withUid('made up', [taint]) } }),
  ),
];

const forged = fc.record({
  path: fc.constantFrom('/validate', '/mutate'),
  origin: fc.constantFrom('10.0.0.66', '10.0.0.67'),
  body: fc.oneof({ weight: 5, arbitrary: mutatedJson(FORGED) }, { weight: 1, arbitrary: hostileValue }),
  times: fc.constantFrom(1, 1, 1, 6),
});

/** What forged reviews do outside the replica that answers them. */
export const FORGED_REVIEWS: readonly FuzzTarget[] = [
  target('forged reviews, and a real one among them', 0.05, fc.tuple(sequence(), sequence()), ([before, after]) =>
    leaveOthersAlone(before, after),
  ),
];

function sequence() {
  return fc.array(forged, { maxLength: 6 });
}

type Forged = typeof forged extends fc.Arbitrary<infer One> ? One : never;

async function leaveOthersAlone(before: readonly Forged[], after: readonly Forged[]): Promise<void> {
  const { client, events, others } = onlyEvents();
  const recorder = createEventRecorder({
    ...{ client, identity: 'fuzz', log },
    timings: { settleMs: 60_000, burst: 10 * MAX_EVENTS },
  });
  const decisions = createDecisionLog({ replica: 'fuzz', capacity: MAX_DECISIONS });
  onJudged = (judged) => {
    for (const event of eventsOf(judged.request, judged.judgement)) recorder.record(event, judged.origin);
    decisions.record(judged);
  };
  const post = (url: string, remoteAddress: string, body: unknown) =>
    server.inject({
      ...{ method: 'POST', url, remoteAddress, payload: JSON.stringify(body) },
      headers: { 'content-type': 'application/json' },
    });
  const forge = async (reviews: readonly Forged[]) => {
    for (const { path, origin, body, times } of reviews) {
      for (let n = 0; n < times; n++) await post(path, origin, renamed(body, n));
    }
  };

  await forge(before);
  await post('/validate', '10.0.0.1', REAL);
  await forge(after);
  await recorder.stop();

  deepEqual(others, [], 'requests that nothing allows');
  const kept = decisions.latest().map(({ view }) => view());
  ok(
    kept.some(({ uid, origin }) => uid === REAL_UID && origin === '10.0.0.1'),
    'the real decision is not listed',
  );
  ok(kept.length <= MAX_DECISIONS);
  for (const one of kept) ok(JSON.stringify(one).length < MAX_DECISION_CHARACTERS);

  const isReal = ({ regarding, note }: WrittenEvent) => regarding.uid === NODE_UID && note.includes(REAL_USER);
  ok(events.some(isReal), 'the real Event is not written');
  ok(events.length <= MAX_EVENTS);
  for (const event of events) {
    const { regarding } = event;
    ok(regarding.kind !== 'Node' || regarding.uid === NODE_UID, `an Event about ${JSON.stringify(regarding)}`);
    ok(JSON.stringify(event).length < MAX_EVENT_CHARACTERS);
  }
}

/** The same review of another user: what is repeated word for word is only counted up. */
function renamed(body: unknown, n: number): unknown {
  const { request } = (body ?? {}) as { request?: unknown };
  if (n === 0 || typeof request !== 'object' || request === null) return body;
  return { ...(body as object), request: { ...request, userInfo: { username: `user-${n}` } } };
}
