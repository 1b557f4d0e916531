import type { CheckResult } from '../check.ts';
import type { Facts } from '../facts.ts';

/** Certificates are valid from an hour before they are issued; long before that is used up, somebody should know. */
const TOLERATED_MS = 5 * 60_000;

const AREA = { area: 'certificate', name: 'clocks' } as const;

interface Clock {
  readonly whose: string;
  /** Ahead of this machine's, in milliseconds. */
  readonly aheadMs: number;
}

/** Whether those who issue certificates, serve them and check them agree on the time. */
export function checkClocks({ apiServerAheadMs, replicas, now }: Facts): CheckResult {
  if (apiServerAheadMs === undefined) {
    return { ...AREA, state: 'skipped', evidence: 'the API server does not say what time it is' };
  }
  const apiServer: Clock = { whose: 'the API server', aheadMs: apiServerAheadMs };
  const clocks: Clock[] = [
    apiServer,
    ...replicas.flatMap(({ name, dialled }) => {
      const aheadMs = dialled.outcome === 'greeted' ? dialled.greeting.clockAheadMs : undefined;
      return aheadMs === undefined ? [] : [{ whose: name, aheadMs }];
    }),
    { whose: 'this machine', aheadMs: 0 },
  ];
  const wrong = clocks.filter((clock) => Math.abs(clock.aheadMs - apiServer.aheadMs) > TOLERATED_MS);
  if (wrong.length === 0) {
    const widest = Math.max(...clocks.map((clock) => Math.abs(clock.aheadMs - apiServer.aheadMs)));
    const seconds = Math.ceil(widest / 1000);
    return {
      ...AREA,
      state: 'ok',
      evidence: `${clocks.length} agree within ${seconds} s: ${clocks.map(({ whose }) => whose).join(', ')}`,
    };
  }
  // Where all of the others agree, it is the API server that is wrong.
  const isApiServer = wrong.length === clocks.length - 1;
  const odd = isApiServer ? [apiServer] : wrong;
  const base = isApiServer ? 0 : apiServer.aheadMs;
  const evidence = `it is ${new Date(now.getTime() + base).toISOString()} by ${isApiServer ? 'this machine' : 'the API server'}, and the clock of ${odd
    .map(({ whose, aheadMs }) => `${whose} is ${difference(aheadMs - base)}`)
    .join(', that of ')}`;
  return {
    ...AREA,
    state: 'trouble',
    evidence,
    remedy: `set the time there, and see whether it is kept (chronyc tracking, timedatectl, talosctl time): certificates are judged by it`,
  };
}

function difference(ms: number): string {
  const minutes = Math.round(Math.abs(ms) / 60_000);
  const text = minutes < 60 ? `${minutes} min` : `${Math.floor(minutes / 60)} h ${minutes % 60} min`;
  return `${text} ${ms > 0 ? 'ahead' : 'behind'}`;
}
