import type { ApiClient, RequestOptions } from '../../../../src/cluster/client/api-client.ts';
import { ApiError } from '../../../../src/cluster/client/api-error.ts';
import type { LeaseSpec } from '../../../../src/cluster/lease/lease.ts';
import { absent } from '../client/absent.ts';

/** What happens to requests. `unanswered` is about writes: they are carried out, and the answer is lost. */
type Weather = 'served' | 'away' | 'forbidden' | 'silent' | 'unanswered';

/** An API server that has one Lease at most, in memory, with optimistic concurrency. */
export interface LeaseServer {
  spec(): LeaseSpec | undefined;
  /** All that it ever was, the oldest first. */
  readonly history: readonly (LeaseSpec | undefined)[];
  /** Somebody writes, or deletes, the Lease by hand. */
  put(spec: LeaseSpec | undefined): void;
  /** Somebody sets a label, which changes the resourceVersion alone. */
  touch(): void;
  /** A client of its own for each process. */
  client(): ApiClient & {
    weather: Weather;
    requests: string[];
    /** What others do between a read and the write that follows it: the first entry before the first update, and so on. */
    beforeUpdates: (() => void)[];
  };
}

export function leaseServer(): LeaseServer {
  let version = 0;
  let spec: LeaseSpec | undefined;
  const history: (LeaseSpec | undefined)[] = [];
  const lease = () => ({
    metadata: { resourceVersion: String(version) },
    spec,
  });
  const write = (next: LeaseSpec | undefined) => {
    spec = next;
    version++;
    history.push(next);
  };

  function serve(method: string, path: string, body: unknown): unknown {
    const fail = (status: number, reason: string) => new ApiError(method, path, status, reason, '');
    const sent = body as { metadata: { resourceVersion?: string }; spec: LeaseSpec } | undefined;
    if (method === 'POST' && spec) throw fail(409, 'AlreadyExists');
    if (method !== 'POST' && !spec) throw absent(method, path);
    if (method === 'PUT' && sent?.metadata.resourceVersion !== String(version)) throw fail(409, 'Conflict');
    if (sent) write(sent.spec);
    return lease();
  }

  return {
    spec: () => spec,
    history,
    put: write,
    touch: () => write(spec),
    client() {
      const self: ReturnType<LeaseServer['client']> = {
        weather: 'served',
        requests: [],
        beforeUpdates: [],
        async request<T>(method: string, path: string, { body, signal, timeoutMs = 10_000 }: RequestOptions = {}) {
          self.requests.push(method);
          await new Promise((resolve) => setTimeout(resolve, 1));
          signal?.throwIfAborted();
          switch (self.weather) {
            case 'served':
              if (method === 'PUT') self.beforeUpdates.shift()?.();
              return serve(method, path, body) as T;
            case 'away':
              throw new Error(`${method} ${path}: connect ECONNREFUSED`);
            case 'forbidden':
              throw new ApiError(method, path, 403, 'Forbidden', 'leases.coordination.k8s.io is forbidden');
            case 'unanswered':
              if (method === 'GET') return serve(method, path, body) as T;
              serve(method, path, body);
              return never(method, path, timeoutMs, signal);
            case 'silent':
              return never(method, path, timeoutMs, signal);
          }
        },
        // biome-ignore lint/correctness/useYield: leader election watches nothing.
        async *lines() {
          throw new Error('not served here');
        },
        namespace: undefined,
        isClockConfirmed: () => true,
        now: () => new Date(),
        server: 'https://lease.test',
        close() {},
      };
      return self;
    },
  };
}

function never(method: string, path: string, timeoutMs: number, signal: AbortSignal | undefined): Promise<never> {
  return new Promise((_resolve, reject) => {
    const timer = setTimeout(() => reject(new Error(`${method} ${path}: no answer within ${timeoutMs} ms`)), timeoutMs);
    signal?.addEventListener('abort', () => {
      clearTimeout(timer);
      reject(signal.reason);
    });
  });
}
