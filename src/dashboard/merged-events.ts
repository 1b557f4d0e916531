import type { StreamEvent } from '../page/event-streams.ts';
import type { PageDecision } from '../page/state.ts';
import { messageOf } from '../runtime/error-message.ts';
import { createFairMap } from '../runtime/fair-map.ts';
import { type FaultLog, followFault } from '../runtime/fault-log.ts';
import { limitSilence, pause, startDeadline } from '../runtime/pause.ts';
import { get, type Replica } from './reachable-replicas.ts';

/** One of the Server-Sent Events of a stream. */
export interface ReadEvent {
  readonly type: string;
  readonly id: string | undefined;
  readonly data: string;
}

/** One event has a few kilobytes: a longer one is not from taintkeeper. */
const MAX_EVENT_CHARACTERS = 1_048_576;

/**
 * Parses a stream of events (WHATWG HTML, section 9.2.6) as taintkeeper writes it: lines end with a line feed. An event without a blank line
 * at its end is left out.
 * @throws Error if it is not an event stream
 */
export async function* readEvents(chunks: AsyncIterable<Buffer>): AsyncGenerator<ReadEvent, void> {
  const decoder = new TextDecoder();
  let text = '';
  for await (const chunk of chunks) {
    text += decoder.decode(chunk, { stream: true });
    const blocks = text.split('\n\n');
    text = blocks.pop() ?? '';
    if (text.length > MAX_EVENT_CHARACTERS) throw new Error('this is no stream of events');
    for (const block of blocks) {
      const event = parse(block);
      if (event) yield event;
    }
  }
}

/** Undefined for blocks without data: comments, `retry`. */
function parse(block: string): ReadEvent | undefined {
  const fields = new Map<string, string>();
  for (const line of block.split('\n')) {
    const [, name = '', value = ''] = /^([^:]*):? ?(.*)$/s.exec(line) ?? [];
    fields.set(name, fields.has(name) ? `${fields.get(name)}\n${value}` : value);
  }
  const data = fields.get('data');
  return data === undefined ? undefined : { type: fields.get('event') ?? 'message', id: fields.get('id'), data };
}

/** The time limits for an answer, and between two events: a replica sends a heartbeat every 10 s. */
const ANSWER_MS = 10_000;
const SILENCE_MS = 30_000;
const RETRY_MS = 1_000;

/** How many decisions are kept: all of two replicas, or the latest of more. */
export const MAX_MERGED = 400;

/** One stream of events: the decisions of all replicas, and the state changes of the one that is shown. */
export interface MergedEvents {
  /** The first events for a new client: the state, and the kept decisions. */
  latest(): StreamEvent[];
  /** Follows these replicas from now on, and shows the state of the named one. */
  update(replicas: readonly Replica[], shown: string): void;
  stop(): void;
}

/** @param send takes each new event */
export function mergeEvents(send: (event: StreamEvent) => void, log: FaultLog): MergedEvents {
  const following = new Map<string, AbortController>();
  const states = new Map<string, StreamEvent>();
  const decisions = createFairMap<StreamEvent>(MAX_MERGED);
  let shown: string | undefined;

  return {
    latest() {
      const state = states.get(shown ?? '');
      return [...(state ? [state] : []), ...decisions.values()];
    },
    update(replicas, name) {
      for (const [followed, stopping] of following) {
        if (replicas.some((replica) => replica.name === followed)) continue;
        stopping.abort();
        following.delete(followed);
        states.delete(followed);
      }
      for (const replica of replicas) {
        if (following.has(replica.name)) continue;
        const stopping = new AbortController();
        following.set(replica.name, stopping);
        void follow(replica, stopping.signal);
      }
      if (name === shown) return;
      shown = name;
      const state = states.get(name);
      if (state) send(state);
    },
    stop() {
      for (const stopping of following.values()) stopping.abort();
      following.clear();
    },
  };

  async function follow(replica: Replica, signal: AbortSignal): Promise<void> {
    const fault = followFault(log, `${replica.name} is followed again`);
    let lastId: string | undefined;
    while (!signal.aborted) {
      try {
        for await (const event of eventsOf(replica, lastId, signal)) {
          fault.isOver();
          lastId = event.id ?? lastId;
          take(replica.name, event);
        }
        throw new Error('it ended the stream');
      } catch (error) {
        const message = messageOf(error);
        if (!signal.aborted) fault.is(message, `${replica.name} cannot be followed: ${message}`);
      }
      await pause(RETRY_MS, signal);
    }
  }

  function take(replica: string, { type, id, data }: ReadEvent): void {
    const event: StreamEvent = { type, ...(id === undefined ? {} : { id }), data: () => data };
    if (type === 'state') {
      states.set(replica, event);
      if (replica === shown) send(event);
    } else if (type === 'decision' && id !== undefined && decisions.get(id) === undefined) {
      const { time, origin, user } = JSON.parse(data) as PageDecision;
      // Decisions of different replicas do not arrive in the order of their times.
      decisions.set(id, event, { origin, part: user }, Date.parse(time));
      send(event);
    }
  }
}

/** @throws Error if the replica cannot be reached, has no such stream, or sends nothing for too long */
async function* eventsOf(
  replica: Replica,
  lastId: string | undefined,
  signal: AbortSignal,
): AsyncGenerator<ReadEvent, void> {
  const deadline = startDeadline(ANSWER_MS, `no answer within ${ANSWER_MS} ms`, signal);
  try {
    const headers: Record<string, string> = lastId === undefined ? {} : { 'last-event-id': lastId };
    const response = await get(replica, '/api/events', headers, deadline.signal);
    if (response.statusCode !== 200) {
      response.destroy();
      throw new Error(response.statusCode === 404 ? NO_PAGE : `it answers with status ${response.statusCode}`);
    }
    yield* readEvents(limitSilence(response, deadline, SILENCE_MS, `nothing heard for ${SILENCE_MS} ms`));
  } finally {
    deadline.clear();
  }
}

const NO_PAGE = 'it has no page: was it started with --no-page, or is it an older version?';
