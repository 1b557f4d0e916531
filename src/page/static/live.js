// @ts-check
/** @import { PageDecision, PageState } from '../state.ts' */
import { outdatedPage } from './upgrade.js';

/**
 * The connection to the program that serves the page.
 * @typedef {{ readonly kind: 'connecting' | 'live' | 'unreadable' } | { readonly kind: 'lost'; readonly since: number }} Connection
 */

/**
 * @typedef {object} Follower
 * @property {string} build the build of the page: see `PageState.build`
 * @property {(state: PageState, answeredAt: number) => void} onState with the time of the answer by the clock of the state; NaN if it did not say
 * @property {(decisions: readonly PageDecision[]) => void} onDecisions some of which may have come before
 * @property {(connection: Connection) => void} onConnection
 */

/** The interval at which the state is requested without an event, because a dead connection sends none. */
const ASK_EVERY_MS = 15_000;
const ANSWER_WITHIN_MS = 10_000;
const RETRY_FIRST_MS = 500;
const RETRY_MOST_MS = 10_000;

/** Decisions that come together are shown together. */
const GATHER_MS = 50;

/**
 * Follows the state and the decisions of the program. A lost connection is retried for as long as the page is open. While the page is
 * hidden, the stream is closed, because the number of streams is limited. After an upgrade of the program, the page is reloaded.
 *
 * @param {Follower} follower
 */
export function follow({ build, onState, onDecisions, onConnection }) {
  const isOutdated = outdatedPage(build);
  /** @type {EventSource | undefined} */
  let stream;
  /** @type {Connection} */
  let connection = { kind: 'connecting' };
  let streaming = false;
  let answering = false;
  /** Whether the page could show the last answer. */
  let readable = true;
  let retryMs = RETRY_FIRST_MS;
  /** @type {ReturnType<typeof setTimeout> | undefined} */
  let retry;
  let asking = false;
  let askAgain = false;
  /** @type {PageDecision[]} */
  let gathered = [];
  /** @type {ReturnType<typeof setTimeout> | undefined} */
  let gathering;

  const judge = () => {
    const lost = () =>
      connection.kind === 'lost' ? connection : { kind: /** @type {const} */ ('lost'), since: Date.now() };
    if (streaming && answering) connection = { kind: readable ? 'live' : 'unreadable' };
    else if (connection.kind !== 'connecting') connection = lost();
    onConnection(connection);
  };
  const fail = () => {
    if (connection.kind === 'connecting') connection = { kind: 'lost', since: Date.now() };
    judge();
  };

  async function ask() {
    if (asking) {
      askAgain = true;
      return;
    }
    asking = true;
    do {
      askAgain = false;
      const answer = await requestState().catch(() => undefined);
      answering = answer !== undefined;
      if (answer === undefined) {
        fail();
        continue;
      }
      readable = take(answer);
      judge();
    } while (askAgain);
    asking = false;
  }

  /**
   * @param {Answer} answer
   * @returns {boolean} whether the page could show it
   */
  function take({ state, answeredAt }) {
    try {
      if (isOutdated(state.build, performance.now())) location.reload();
      else onState(state, answeredAt);
      return true;
    } catch (error) {
      // A fault of the page, such as a state of another build that it does not understand. The connection is not lost.
      reportError(error);
      return false;
    }
  }

  function open() {
    clearTimeout(retry);
    stream?.close();
    const opened = new EventSource('api/events');
    stream = opened;
    opened.addEventListener('open', () => {
      streaming = true;
      retryMs = RETRY_FIRST_MS;
      judge();
    });
    // The first event of every stream.
    opened.addEventListener('state', () => void ask());
    opened.addEventListener('decision', ({ data }) => {
      gathered.push(JSON.parse(data));
      if (gathering === undefined) gathering = setTimeout(deliver, GATHER_MS);
    });
    opened.addEventListener('error', () => {
      streaming = false;
      fail();
      // The browser's own retry stops at the first answer that is not a stream.
      opened.close();
      clearTimeout(retry);
      retry = setTimeout(open, retryMs);
      retryMs = Math.min(retryMs * 2, RETRY_MOST_MS);
    });
  }

  function deliver() {
    const newDecisions = gathered;
    gathered = [];
    gathering = undefined;
    onDecisions(newDecisions);
  }

  document.addEventListener('visibilitychange', () => {
    if (!document.hidden) {
      open();
      return;
    }
    clearTimeout(retry);
    stream?.close();
  });
  setInterval(() => {
    if (!document.hidden) void ask();
  }, ASK_EVERY_MS);
  onConnection(connection);
  void ask();
  open();
}

/** @typedef {{ readonly state: PageState; readonly answeredAt: number }} Answer see {@link Follower} */

/** @returns {Promise<Answer>} */
async function requestState() {
  // `no-cache` revalidates by the ETag, which is cheap while nothing has changed.
  const answer = await fetch('api/state', { cache: 'no-cache', signal: AbortSignal.timeout(ANSWER_WITHIN_MS) });
  if (!answer.ok) throw new Error(`${answer.status}`);
  return { state: await answer.json(), answeredAt: Date.parse(answer.headers.get('date') ?? '') };
}
