import type { IncomingMessage } from 'node:http';
import { json } from 'node:stream/consumers';
import type { PageState } from '../page/state.ts';
import { get, type Replica, type Replicas } from './replica.ts';

/** How long a replica may take to say whether it leads, in milliseconds. */
const ANSWER_MS = 2_000;

/** Replicas whose addresses are given: each is asked whether it leads, and asked again only when its state is another one. */
export function givenReplicas(replicas: readonly Replica[]): () => Promise<Replicas> {
  const known = new Map<string, { readonly etag: string; readonly leads: boolean }>();

  async function leads(replica: Replica): Promise<boolean> {
    const before = known.get(replica.name);
    const headers: Record<string, string> = before ? { 'if-none-match': before.etag } : {};
    try {
      const response = await get(replica, '/api/state', headers, AbortSignal.timeout(ANSWER_MS));
      if (response.statusCode !== 200) {
        response.destroy();
        return response.statusCode === 304 && before !== undefined && before.leads;
      }
      const { leader } = (await json(response)) as PageState;
      known.set(replica.name, { etag: etagOf(response), leads: leader.isThis });
      return leader.isThis;
    } catch {
      // Whoever follows its events says so.
      return false;
    }
  }

  return async () => {
    const leading = await Promise.all(replicas.map(leads));
    return { replicas, leader: replicas[leading.indexOf(true)]?.name };
  };
}

function etagOf({ headers }: IncomingMessage): string {
  return headers.etag ?? '';
}
