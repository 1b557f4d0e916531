import { type Finding, finding } from '../check.ts';
import type { Facts } from '../facts.ts';

/** Certificates are valid from an hour before they are issued. A problem is reported long before a clock is off by that much. */
const TOLERATED_MS = 5 * 60_000;

interface Clock {
  readonly whose: string;
  /** Ahead of this machine's, in milliseconds. */
  readonly aheadMs: number;
}

/** Checks that the clocks of the API server, the replicas and this machine agree. */
export function checkClocks({ apiServerAheadMs, replicas, now }: Facts): Finding {
  if (apiServerAheadMs === undefined) {
    return finding('skipped', 'the API server does not report its time');
  }
  const apiServer: Clock = { whose: 'the API server', aheadMs: apiServerAheadMs };
  const own: Clock = { whose: 'this machine', aheadMs: 0 };
  const ofReplicas: Clock[] = replicas.flatMap(({ name, dialled }) => {
    const aheadMs = dialled.outcome === 'greeted' ? dialled.greeting.clockAheadMs : undefined;
    return aheadMs === undefined ? [] : [{ whose: name, aheadMs }];
  });
  const clocks = [apiServer, ...ofReplicas, own];
  const wrong = differingFrom(apiServer, clocks);
  if (wrong.length === 0) {
    const widest = Math.max(...clocks.map((clock) => Math.abs(clock.aheadMs - apiServer.aheadMs)));
    const seconds = Math.ceil(widest / 1000);
    return finding('ok', `${clocks.length} agree within ${seconds} s: ${clocks.map(({ whose }) => whose).join(', ')}`);
  }
  const timeBy = ({ whose, aheadMs }: Clock) => `${new Date(now.getTime() + aheadMs).toISOString()} by ${whose}`;
  // The API server's clock is wrong only if two others agree that it is.
  const right = [apiServer, own, ...ofReplicas].find(
    (clock) => differingFrom(clock, clocks).length < clocks.length - 1,
  );
  if (right === undefined) {
    return finding(
      'problem',
      `the clocks differ: it is ${clocks.map(timeBy).join(', ')}`,
      `compare them with a clock that is right, and correct the others: ${SYNCHRONISED}`,
    );
  }
  const odd = differingFrom(right, clocks).map(
    ({ whose, aheadMs }) => `${whose} is ${difference(aheadMs - right.aheadMs)}`,
  );
  return finding(
    'problem',
    `it is ${timeBy(right)}, and the clock of ${odd.join(', that of ')}`,
    `correct the clock there, and ${SYNCHRONISED}`,
  );
}

const SYNCHRONISED =
  'check that it is synchronised (chronyc tracking, timedatectl, talosctl time): certificates depend on it';

function differingFrom(one: Clock, clocks: readonly Clock[]): Clock[] {
  return clocks.filter(({ aheadMs }) => Math.abs(aheadMs - one.aheadMs) > TOLERATED_MS);
}

function difference(ms: number): string {
  const minutes = Math.round(Math.abs(ms) / 60_000);
  const text = minutes < 60 ? `${minutes} min` : `${Math.floor(minutes / 60)} h ${minutes % 60} min`;
  return `${text} ${ms > 0 ? 'ahead' : 'behind'}`;
}
