import { createHash } from 'node:crypto';
import type { Agent } from 'node:http';
import type { AgentOptions } from 'node:https';

/** Connections made with one set of certificates. */
export interface Pool {
  readonly agent: Promise<Agent>;
}

/** The connections of one client. When the certificates change, new requests get a new pool. */
export interface ConnectionPools {
  /** The pool for these certificates. The caller must return it by {@link release}. */
  take(tls: AgentOptions): Pool;
  /** A request has ended, or was never sent. A pool that is no longer current closes with its last request. */
  release(pool: Pool): void;
  /** Closes unused connections. */
  closeUnused(): void;
  /** Closes all. Requests in flight fail. */
  close(): void;
}

interface CountedPool extends Pool {
  readonly key: string;
  taken: number;
}

/** @param makeAgent creates an agent that keeps its connections; if it fails, the next {@link ConnectionPools.take} tries again */
export function createConnectionPools(makeAgent: (tls: AgentOptions) => Promise<Agent>): ConnectionPools {
  const pools = new Set<CountedPool>();
  let current: CountedPool | undefined;

  function closeIfUnused(pool: CountedPool): void {
    if (pool === current || pool.taken > 0 || !pools.delete(pool)) return;
    useAgent(pool, (agent) => agent.destroy());
  }

  function open(key: string, tls: AgentOptions): CountedPool {
    const pool = { key, agent: makeAgent(tls), taken: 0 };
    pool.agent.catch(() => {
      if (current === pool) current = undefined;
    });
    pools.add(pool);
    return pool;
  }

  return {
    take(tls) {
      const key = fingerprint(tls);
      const before = current;
      if (current?.key !== key) current = open(key, tls);
      if (before) closeIfUnused(before);
      current.taken++;
      return current;
    },
    release(pool) {
      const counted = pool as CountedPool;
      counted.taken--;
      closeIfUnused(counted);
    },
    closeUnused() {
      for (const pool of pools) {
        useAgent(pool, ({ freeSockets }) => {
          for (const socket of Object.values(freeSockets).flatMap((sockets) => sockets ?? [])) socket.destroy();
        });
      }
    },
    close() {
      for (const pool of pools) useAgent(pool, (agent) => agent.destroy());
    },
  };
}

/** Does nothing with an agent that could not be created: the caller got the error. */
function useAgent(pool: Pool, use: (agent: Agent) => void): void {
  pool.agent.then(use, () => {});
}

/** A hash, so that no copy of a private key is kept. */
function fingerprint(tls: AgentOptions): string {
  const parts = [tls.ca, tls.cert, tls.key].map((part) => (part ? String(part) : ''));
  return createHash('sha256')
    .update(JSON.stringify([...parts, tls.servername, tls.rejectUnauthorized]))
    .digest('base64');
}
