import { Agent, request } from 'node:https';
import type { AddressInfo } from 'node:net';
import { onTestFinished } from 'vitest';
import { issueCa, issueServing } from '../../../src/certs/issue.ts';
import { parsePolicies } from '../../../src/files/policy-files.ts';
import { compilePolicies } from '../../../src/policy/policy-set.ts';
import { createMetrics } from '../../../src/replica/metrics.ts';
import { createAdmissionServer } from '../../../src/server/admission-server.ts';
import type { ClientTimeouts } from '../../../src/server/client-timeouts.ts';
import type { JudgedCreation, JudgedRequest } from '../../../src/server/reviewer.ts';
import { captureLog } from '../captured-log.ts';
import { harmlessReview, TOLERATION_POLICY_YAML, taintPolicyYaml } from '../reviews.ts';

const ca = await issueCa(new Date());

/** The CA of every server started here, PEM. */
export const CA_CERT = ca.cert;

export const SERVING_PAIR = await issueServing(ca, ['localhost', '127.0.0.1'], new Date());

/** Another pair of the same CA. */
export const issueAnotherPair = () => issueServing(ca, ['localhost', '127.0.0.1'], new Date());

export interface Answer {
  readonly status: number;
  readonly text: string;
  readonly headers: Readonly<Record<string, string | string[] | undefined>>;
}

export interface PostOptions {
  readonly path?: string;
  readonly method?: string;
  readonly headers?: Record<string, string>;
  /** The address of the sender. */
  readonly localAddress?: string;
}

export interface ServerOptions {
  readonly policies?: string;
  /** Throws in place of the policies, as a replica does that has not read them yet. */
  readonly failing?: Error;
  readonly timeouts?: ClientTimeouts;
  readonly level?: 'info' | 'debug';
  readonly onJudged?: (judged: JudgedRequest) => void;
  readonly onCreation?: (creation: JudgedCreation) => void;
  /** Done while the server closes, after it has begun to and before it lets go of idle connections. */
  readonly whileClosing?: () => Promise<void>;
}

/** An admission server on a free port of the loopback, that goes with the running test. */
export async function startServer(options: ServerOptions = {}) {
  const { policies, failing, timeouts, level, onJudged, onCreation, whileClosing } = options;
  const captured = captureLog(level);
  const metrics = createMetrics('0.0.0-test');
  const compiled = compilePolicies(
    parsePolicies([{ name: 'test', text: policies ?? `${taintPolicyYaml('Deny')}---\n${TOLERATION_POLICY_YAML}` }]),
  );
  const app = createAdmissionServer({
    tls: SERVING_PAIR,
    policies() {
      if (failing) throw failing;
      return compiled;
    },
    metrics,
    log: captured.log,
    ...(timeouts ? { timeouts } : {}),
    ...(onJudged ? { onJudged } : {}),
    ...(onCreation ? { onCreation } : {}),
  });
  if (whileClosing) app.addHook('preClose', whileClosing);
  await app.listen({ host: '127.0.0.1', port: 0 });
  const agent = new Agent({ ca: CA_CERT, keepAlive: true });
  onTestFinished(async () => {
    agent.destroy();
    app.server.closeAllConnections();
    await app.close();
  });

  const { port } = app.server.address() as AddressInfo;
  const post = (body: unknown, options: PostOptions = {}) => send(port, agent, body, options);
  return {
    app,
    port,
    metrics,
    post,
    /** Posts a review, and gives the parsed AdmissionReview that came back. */
    async review(body: unknown, path = '/validate') {
      const { text } = await post(body, { path });
      return JSON.parse(text).response;
    },
    /** The answer to a good request: proof that the server still serves. */
    async aliveAnswer() {
      const { status, text } = await post(harmlessReview({ uid: 'still-alive' }));
      return { status, response: JSON.parse(text).response };
    },
    log: captured,
  };
}

export const ALIVE = { status: 200, response: { uid: 'still-alive', allowed: true } };

/** Sends a request. A string or buffer is sent as it is, anything else as JSON, `undefined` as no body at all. */
function send(
  port: number,
  agent: Agent,
  body: unknown,
  { path = '/validate', method = 'POST', headers, localAddress }: PostOptions,
): Promise<Answer> {
  const bytes =
    body === undefined || typeof body === 'string' || Buffer.isBuffer(body) ? body : Buffer.from(JSON.stringify(body));
  return new Promise((resolve, reject) => {
    const outgoing = request({
      host: '127.0.0.1',
      port,
      path,
      method,
      agent,
      ...(localAddress === undefined ? {} : { localAddress }),
      headers: {
        ...(bytes === undefined ? {} : { 'content-type': 'application/json' }),
        ...(bytes === undefined || headers?.['transfer-encoding']
          ? {}
          : { 'content-length': String(Buffer.byteLength(bytes)) }),
        ...headers,
      },
    });
    outgoing.on('error', reject);
    outgoing.on('response', (incoming) => {
      const chunks: Buffer[] = [];
      incoming.on('data', (chunk: Buffer) => chunks.push(chunk));
      incoming.on('error', reject);
      incoming.on('end', () =>
        resolve({
          status: incoming.statusCode ?? 0,
          text: Buffer.concat(chunks).toString(),
          headers: incoming.headers,
        }),
      );
    });
    outgoing.end(bytes);
  });
}
