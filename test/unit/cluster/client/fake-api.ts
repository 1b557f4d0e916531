import { once } from 'node:events';
import { writeFileSync } from 'node:fs';
import { createServer, type IncomingMessage, type Server, type ServerResponse } from 'node:http';
import { createServer as createTlsServer, type ServerOptions } from 'node:https';
import type { AddressInfo, Socket } from 'node:net';
import { join } from 'node:path';
import { text } from 'node:stream/consumers';
import { onTestFinished } from 'vitest';
import { connect, type UserClient } from '../../../../src/cluster/client/api-client.ts';
import { temporaryDirectory } from '../../temporary-directory.ts';

/** A request as it came. */
export interface Received {
  readonly method: string;
  /** Without the query. */
  readonly path: string;
  readonly query: Readonly<Record<string, string>>;
  readonly headers: IncomingMessage['headers'];
  readonly body: string;
  readonly socket: Socket;
}

export type Handler = (request: Received, response: ServerResponse) => void;

/** An HTTP server that answers what the test says: for what the real API server cannot be made to do. */
export interface FakeApi {
  readonly url: string;
  readonly received: Received[];
  /** Connections that are open now, and how many there were at all. */
  connections(): { open: number; made: number };
}

/** Ends with the running test. */
export async function startFakeApi(handler: Handler, tls?: ServerOptions): Promise<FakeApi> {
  const received: Received[] = [];
  const open = new Set<Socket>();
  let made = 0;
  const listener = async (incoming: IncomingMessage, response: ServerResponse) => {
    const { pathname, searchParams } = new URL(incoming.url ?? '', 'http://fake');
    const request: Received = {
      method: incoming.method ?? '',
      path: pathname,
      query: Object.fromEntries(searchParams),
      headers: incoming.headers,
      body: await text(incoming),
      socket: incoming.socket,
    };
    received.push(request);
    handler(request, response);
  };
  const server: Server = tls ? createTlsServer(tls, listener) : createServer(listener);
  server.on(tls ? 'secureConnection' : 'connection', (socket: Socket) => {
    made++;
    open.add(socket);
    socket.on('error', () => {}).once('close', () => open.delete(socket));
  });
  server.listen(0, '127.0.0.1');
  await once(server, 'listening');
  onTestFinished(() => {
    server.closeAllConnections();
    server.close();
  });
  const { port } = server.address() as AddressInfo;
  return {
    url: `${tls ? 'https' : 'http'}://127.0.0.1:${port}`,
    received,
    connections: () => ({ open: open.size, made }),
  };
}

/** Answers with JSON. */
export function answer(response: ServerResponse, body: unknown, status = 200): void {
  response.writeHead(status, { 'content-type': 'application/json' }).end(JSON.stringify(body));
}

/** A metav1.Status that says no. */
export const refusal = (code: number, reason: string, message: string) => ({
  kind: 'Status',
  apiVersion: 'v1',
  metadata: {},
  status: 'Failure',
  code,
  reason,
  message,
});

export interface KubeconfigParts {
  readonly user?: object;
  readonly cluster?: object;
  readonly context?: object;
}

/** The text of a kubeconfig for the server (YAML is a superset of JSON). */
export function kubeconfigText(server: string, { user, cluster, context }: KubeconfigParts = {}): string {
  return JSON.stringify({
    apiVersion: 'v1',
    kind: 'Config',
    'current-context': 'test',
    contexts: [{ name: 'test', context: { cluster: 'test', user: 'test', ...context } }],
    clusters: [{ name: 'test', cluster: { server, 'insecure-skip-tls-verify': true, ...cluster } }],
    users: [{ name: 'test', user: { token: 'the-token', ...user } }],
  });
}

/** A client for the server, closed with the running test, and the file that says how to reach it. */
export async function clientFor(
  server: string,
  parts?: KubeconfigParts,
): Promise<{ client: UserClient; file: string }> {
  const file = join(temporaryDirectory(), 'kubeconfig');
  writeFileSync(file, kubeconfigText(server, parts));
  const client = await connect({ kubeconfig: file, userAgent: 'taintkeeper/test' });
  onTestFinished(() => client.close());
  return { client, file };
}
