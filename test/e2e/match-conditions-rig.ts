import type { AddressInfo, Socket } from 'node:net';
import { pino } from 'pino';
import { decodeReview } from '../../src/admission/admission-review.ts';
import { issueCa, issueServing } from '../../src/certs/issue.ts';
import type { Phase } from '../../src/judge/decision.ts';
import { compilePolicies, type PolicySet } from '../../src/policy/policy-set.ts';
import { createMetrics } from '../../src/replica/metrics.ts';
import { createAdmissionServer } from '../../src/server/admission-server.ts';
import { parseBody, type ReceivedBody } from '../../src/server/json-body.ts';
import type { WebhookEntry } from '../../src/webhooks/webhook-entry.ts';
import type { ControlPlane } from '../control-plane/control-plane.ts';
import { admin } from '../control-plane/users.ts';
import { waitUntil } from '../control-plane/wait-until.ts';
import { webhooksAtUrl } from '../control-plane/webhooks-at-url.ts';

/** The API server compiles every expression first, for hundreds of policies in seconds. */
const EFFECT_TIMEOUT_MS = 45_000;
const PHASES = ['mutate', 'validate'] as const;
const KINDS = { mutate: 'MutatingWebhookConfiguration', validate: 'ValidatingWebhookConfiguration' } as const;

/** A webhook that the API server called. */
export interface Call {
  readonly entry: string;
  readonly phase: Phase;
}

/** Webhooks on a real API server that can be told apart: each entry has a listener of its own. */
export interface EntryRig {
  /**
   * Registers the entries instead of those before, and returns once the API server goes by them, and somebody answers. Requests of the
   * admin pass them all by.
   */
  register(entries: readonly WebhookEntry[], policies: PolicySet): Promise<void>;
  /** Whether somebody answers the calls from now on. For the API server it is the same configuration: it compiles nothing anew. */
  setReachable(reachable: boolean): void;
  /** The calls since the last time, probes left out. */
  takeCalls(): Call[];
  stop(): Promise<void>;
}

/** @param cp the control plane that calls */
export async function createEntryRig(cp: ControlPlane): Promise<EntryRig> {
  const ca = await issueCa(new Date());
  const tls = await issueServing(ca, ['127.0.0.1'], new Date());
  const listeners = new Map<string, Promise<{ url: string; close(): Promise<void> }>>();
  const connections = new Set<Socket>();
  let reachable = true;
  let policies = compilePolicies([]);
  let calls: Call[] = [];
  let generation = 0;
  let registered: string | undefined;

  const listenerFor = (entry: string) => {
    const listener = listeners.get(entry) ?? listen(entry);
    listeners.set(entry, listener);
    return listener;
  };

  async function listen(entry: string) {
    const app = createAdmissionServer({
      tls,
      policies: () => policies,
      metrics: createMetrics('0.0.0-test'),
      log: pino({ level: 'silent' }),
    });
    app.addHook('preHandler', async (request) => {
      const body = parseBody(request.body as ReceivedBody);
      if (!body.tooLarge && !decodeReview(body.value).ok)
        throw new Error('the API server sent something else than a review');
      calls.push({ entry, phase: request.url.startsWith('/mutate') ? 'mutate' : 'validate' });
    });
    app.server.on('connection', (socket: Socket) => {
      if (!reachable) socket.destroy();
      connections.add(socket);
      socket.once('close', () => connections.delete(socket));
    });
    await app.listen({ host: '127.0.0.1', port: 0 });
    const { port } = app.server.address() as AddressInfo;
    const close = async () => {
      app.server.closeAllConnections();
      await app.close();
    };
    return { url: `https://127.0.0.1:${port}`, close };
  }

  async function webhook(entry: WebhookEntry) {
    const { url } = await listenerFor(entry.name);
    return webhooksAtUrl([entry], entry.phase, url, Buffer.from(ca.cert).toString('base64'));
  }

  async function put(kind: string, webhooks: readonly object[]): Promise<void> {
    const path = `/apis/admissionregistration.k8s.io/v1/${kind.toLowerCase()}s`;
    const metadata = { name: 'match-conditions' };
    const body = { apiVersion: 'admissionregistration.k8s.io/v1', kind, metadata, webhooks };
    const stored = await cp.request<typeof body>(admin, 'GET', `${path}/${metadata.name}`);
    const answer =
      stored.status === 404
        ? await cp.request(admin, 'POST', path, { body })
        : await cp.request(admin, 'PUT', `${path}/${metadata.name}`, {
            body: { ...body, metadata: stored.body.metadata },
          });
    if (answer.status >= 300) throw new Error(`cannot register: ${JSON.stringify(answer.body).slice(0, 2_000)}`);
  }

  return {
    async register(entries, compiled) {
      policies = compiled;
      reachable = true;
      calls = [];
      if (registered === JSON.stringify(entries)) return;
      registered = undefined;
      generation += 1;
      const probe = `probe-${generation}`;
      for (const phase of PHASES) {
        const notAdmin = { name: 'not-admin', expression: `request.userInfo.username != "${admin.name}"` };
        const own = entries
          .filter((entry) => entry.phase === phase)
          .map((entry) => ({ ...entry, matchConditions: [...entry.matchConditions, notAdmin] }));
        const webhooks = await Promise.all([...own, probeEntry(phase, probe)].map(webhook));
        await put(KINDS[phase], webhooks.flat());
      }
      await waitUntil(
        async () => {
          calls = [];
          await cp.request(admin, 'POST', '/api/v1/nodes?dryRun=All', { body: { metadata: { name: probe } } });
          return calls.length === PHASES.length ? true : undefined;
        },
        { timeoutMs: EFFECT_TIMEOUT_MS, otherwise: () => `the API server does not call ${probe} in both phases` },
      );
      calls = [];
      registered = JSON.stringify(entries);
    },
    setReachable(yes) {
      reachable = yes;
      if (!yes) for (const socket of connections) socket.destroy();
    },
    takeCalls() {
      const taken = calls;
      calls = [];
      return taken;
    },
    async stop() {
      for (const listener of listeners.values()) await (await listener).close();
    },
  };
}

/** All webhooks of a configuration take effect together: this one shows that they have. */
function probeEntry(phase: Phase, node: string): WebhookEntry {
  return {
    name: `${phase}-probe.taintkeeper.dev`,
    phase,
    resource: 'nodes',
    operations: ['CREATE'],
    failurePolicy: 'Ignore',
    matchConditions: [{ name: 'is-the-probe', expression: `request.name == "${node}"` }],
  };
}
