import { type IncomingMessage, request } from 'node:http';
import { connect } from 'node:net';
import type { Duplex } from 'node:stream';
import { orAborted } from '../cluster/client/deadline.ts';

/** A running taintkeeper whose admin listener can be reached. */
export interface Replica {
  readonly name: string;
  /** A new connection to that listener. */
  readonly dial: () => Promise<Duplex>;
}

/** The replicas there are, and the name of the one that leads, if that is known. */
export interface Replicas {
  readonly replicas: readonly Replica[];
  readonly leader: string | undefined;
}

/** A listener that can be reached as it is. */
export function replicaAt(url: URL): Replica {
  const host = url.hostname.replace(/^\[|\]$/g, '');
  return {
    name: url.host,
    dial: async () => connect({ host, port: Number(url.port || 80), noDelay: true }),
  };
}

/**
 * The head of the answer to a GET, over a connection of its own; the signal ends the body, too.
 * @throws Error from the connection, or the signal's reason
 */
export async function get(
  replica: Replica,
  path: string,
  headers: Readonly<Record<string, string>>,
  signal: AbortSignal,
): Promise<IncomingMessage> {
  const dialled = replica.dial();
  let connection: Duplex;
  try {
    connection = await orAborted(dialled, signal);
  } catch (error) {
    // One that comes too late is nobody's.
    dialled.then(
      (late) => late.destroy(),
      () => {},
    );
    throw error;
  }
  return new Promise((resolve, reject) => {
    const outgoing = request({
      createConnection: () => connection,
      path,
      // That of the listener, whatever the way to it.
      headers: { ...headers, host: 'localhost', connection: 'close' },
      signal,
    });
    outgoing.once('response', (response) => {
      // Whoever reads it is told; if nobody does any more, nobody minds.
      response.on('error', () => {});
      response.once('close', () => connection.destroy());
      resolve(response);
    });
    outgoing.on('error', (error) => {
      connection.destroy();
      reject(signal.aborted ? signal.reason : error);
    });
    outgoing.end();
  });
}
