import { setTimeout as delay } from 'node:timers/promises';
import type { ControlPlane } from '../control-plane/control-plane.ts';
import { admin } from '../control-plane/users.ts';
import { waitUntil } from '../control-plane/wait-until.ts';
import { shakeHands } from './handshake.ts';
import { configurationPath } from './installation.ts';

/** How handshakes ended that were made with the CAs of a `caBundle`. */
export interface Handshakes {
  trusted: number;
  /** The API server would have failed the call: the certificate is not of this bundle. */
  distrusted: FailedHandshakes[];
  /** Nobody was there, or not in time. */
  unanswered: FailedHandshakes[];
}

/** One after the other, all with the same result: minutes of them fit on a page. */
export interface FailedHandshakes {
  times: number;
  /** Of the first and the last, in milliseconds since the epoch. */
  readonly since: number;
  until: number;
  readonly code: string;
  /** The webhooks that are registered with the bundle. */
  readonly webhooks: readonly string[];
  /** Of the certificate that was shown, if one was. */
  readonly issuer: string | undefined;
}

export interface TrustOutcomes {
  /** With each bundle that is registered now, give or take the time between two looks. */
  now: Handshakes;
  /**
   * With each bundle as it was a second ago: of several API servers some learn late of a new one. What is served has to be
   * trusted by both.
   */
  momentAgo: Handshakes;
}

/** What the outcomes look like when no handshake failed; for `toMatchObject`. */
export const NONE_FAILED = {
  now: { distrusted: [], unanswered: [] },
  momentAgo: { distrusted: [], unanswered: [] },
};

/** Of failures both numbers: with the bundles of now, and of a moment ago. */
export function summaryOfHandshakes({ now, momentAgo }: TrustOutcomes): string {
  return (
    `${now.trusted + momentAgo.trusted} handshakes trusted, ${countOf(now.distrusted)} + ${countOf(momentAgo.distrusted)} not, ` +
    `${countOf(now.unanswered)} + ${countOf(momentAgo.unanswered)} unanswered`
  );
}

export function countOf(failures: readonly FailedHandshakes[]): number {
  return failures.reduce((sum, { times }) => sum + times, 0);
}

export interface TrustProber {
  /** What happened since the last call, or the beginning. */
  take(): TrustOutcomes;
  /** Waits until the bundles that are registered now have been dialled with as those of a moment ago. */
  caughtUp(): Promise<void>;
  stop(): Promise<void>;
}

/** How long ago "a moment ago" is. */
const MOMENT_MS = 1_000;
const DIAL_PAUSE_MS = 50;
const READ_PAUSE_MS = 100;
const CATCH_UP_TIMEOUT_MS = 30_000;

/** The webhooks by the bundle that they are registered with, PEM. */
type Registered = ReadonlyMap<string, readonly string[]>;

/** What was registered when. */
interface Seen {
  readonly at: number;
  readonly registered: Registered;
}

/**
 * Dials the Service's port again and again, each time afresh, and trusts what the webhook configurations say that the API
 * server should. The API server itself shakes hands seldom: it keeps its connections, and over those a certificate that
 * nobody trusts goes unseen. Where no webhook is registered, nobody is dialled.
 *
 * @param port where the Service leads to
 */
export function startTrustProber(cp: ControlPlane, port: number): TrustProber {
  const none = (): Handshakes => ({ trusted: 0, distrusted: [], unanswered: [] });
  const fresh = (): TrustOutcomes => ({ now: none(), momentAgo: none() });
  let outcomes = fresh();
  let stopped = false;
  /** The oldest first; all of the last moment, and one before that. */
  let seen: Seen[] = [];
  /** When the bundles were registered that were dialled last as those of a moment ago. */
  let dialledMomentAgo = Number.NEGATIVE_INFINITY;

  async function read(): Promise<void> {
    while (!stopped) {
      const registered = await readRegistered(cp);
      const at = performance.now();
      seen.push({ at, registered });
      const before = seen.findLastIndex((one) => one.at <= at - MOMENT_MS);
      seen = seen.slice(Math.max(before, 0));
      await delay(READ_PAUSE_MS);
    }
  }

  async function dial(which: keyof TrustOutcomes, chosen: () => Seen | undefined): Promise<void> {
    while (!stopped) {
      const one = chosen();
      for (const [bundle, webhooks] of one?.registered ?? []) {
        const handshake = await shakeHands(port, bundle);
        const counts = outcomes[which];
        if (handshake.outcome === 'trusted') {
          counts.trusted++;
          continue;
        }
        const issuer = handshake.outcome === 'distrusted' ? handshake.certificate?.issuer : undefined;
        add(counts[handshake.outcome], { code: handshake.code, webhooks, issuer });
      }
      if (one && which === 'momentAgo') dialledMomentAgo = one.at;
      await delay(DIAL_PAUSE_MS);
    }
  }

  const work = [
    read(),
    dial('now', () => seen.at(-1)),
    dial('momentAgo', () => seen.findLast(({ at }) => at <= performance.now() - MOMENT_MS)),
  ];
  return {
    take() {
      const taken = outcomes;
      outcomes = fresh();
      return taken;
    },
    async caughtUp() {
      const since = performance.now();
      await waitUntil(() => dialledMomentAgo >= since || undefined, {
        timeoutMs: CATCH_UP_TIMEOUT_MS,
        otherwise: () => 'the prober did not dial with the bundles of a moment ago',
      });
    },
    async stop() {
      stopped = true;
      await Promise.all(work);
    },
  };
}

function add(failures: FailedHandshakes[], failure: Pick<FailedHandshakes, 'code' | 'webhooks' | 'issuer'>): void {
  const { code, webhooks, issuer } = failure;
  const last = failures.at(-1);
  const now = Date.now();
  if (last?.code === code && last.issuer === issuer && last.webhooks.join() === webhooks.join()) {
    last.times++;
    last.until = now;
  } else {
    failures.push({ ...failure, times: 1, since: now, until: now });
  }
}

async function readRegistered(cp: ControlPlane): Promise<Registered> {
  const registered = new Map<string, string[]>();
  for (const kind of ['mutating', 'validating'] as const) {
    const { status, body } = await cp.request<{
      webhooks?: { name: string; clientConfig: { caBundle?: string } }[];
    }>(admin, 'GET', configurationPath(kind));
    if (status !== 200 && status !== 404) throw new Error(`cannot read the ${kind} webhooks: ${JSON.stringify(body)}`);
    for (const { name, clientConfig } of body.webhooks ?? []) {
      const bundle = Buffer.from(clientConfig.caBundle ?? '', 'base64').toString();
      registered.set(bundle, [...(registered.get(bundle) ?? []), name]);
    }
  }
  return registered;
}
