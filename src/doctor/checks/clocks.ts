import { type Finding, finding } from '../check.ts';
import type { Facts } from '../facts/facts.ts';

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
  // If as many clocks agree on another time, it is unknown which ones are right. A clock that agrees with all others proves nothing: they may differ.
  const agreeing = (clock: Clock) => clocks.length - differingFrom(clock, clocks).length;
  const right = [apiServer, own, ...ofReplicas].find((clock) => {
    const others = differingFrom(clock, clocks);
    return others.length > 0 && others.every((other) => agreeing(other) < agreeing(clock));
  });
  if (right === undefined) {
    return finding(
      'problem',
      `the clocks differ: it is ${clocks.map(timeBy).join(', ')}`,
      `find out which clock is right, and ${CORRECT}`,
    );
  }
  const odd = differingFrom(right, clocks).map(
    ({ whose, aheadMs }) => `${whose} is ${difference(aheadMs - right.aheadMs)}`,
  );
  return finding('problem', `it is ${timeBy(right)}, and the clock of ${odd.join(', that of ')}`, CORRECT);
}

const CORRECT =
  'correct the clocks that are wrong, and check that each is synchronised (chronyc tracking, timedatectl, talosctl time): certificates depend on them';

function differingFrom(one: Clock, clocks: readonly Clock[]): Clock[] {
  return clocks.filter(({ aheadMs }) => Math.abs(aheadMs - one.aheadMs) > TOLERATED_MS);
}

function difference(ms: number): string {
  const minutes = Math.round(Math.abs(ms) / 60_000);
  const text = minutes < 60 ? `${minutes} min` : `${Math.floor(minutes / 60)} h ${minutes % 60} min`;
  return `${text} ${ms > 0 ? 'ahead' : 'behind'}`;
}
