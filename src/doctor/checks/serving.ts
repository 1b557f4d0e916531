import { EXPIRES_SOON_MS, invalidAt, namesText, uncoveredNames } from '../../certs/inspect.ts';
import { count } from '../../kubernetes/text.ts';
import { consequence, type Finding, finding } from '../check.ts';
import { type Facts, trustedTime } from '../facts.ts';
import { describeGroups, renewal, type Served, servedBy, unservedReason } from './served.ts';

/** Checks that the served certificates are valid, now and soon, by the API server's clock. */
export function checkServing(facts: Facts): Finding {
  const served = servedBy(facts);
  const [first] = served;
  if (!first) return finding('skipped', unservedReason(facts));
  const now = trustedTime(facts);
  const invalid = served.flatMap(({ replica, leaf }) => {
    const reason = invalidAt(leaf, now);
    return reason === undefined ? [] : [{ replica, reason }];
  });
  if (invalid.length > 0) {
    const told = describeGroups(
      invalid,
      ({ reason }) => reason,
      (group) => `the certificate of ${group.map(({ replica }) => replica).join(', ')} is ${group[0].reason}`,
    );
    const notValid = finding('problem', `${told}; it is ${now.toISOString()} now`, renewal(facts));
    // An issuer whose clock was ahead issues both.
    if (served.every(({ leaf }) => facts.now < leaf.validFromDate)) {
      return consequence(notValid, (cause) => `not valid yet, as its CA: see ${cause}`, ['Secret']);
    }
    const isValidHere = served.every(({ leaf }) => !invalidAt(leaf, facts.now));
    return isValidHere
      ? consequence(notValid, (cause) => `valid by this machine's clock, and not by the API server's: see ${cause}`, [
          'clocks',
        ])
      : notValid;
  }
  const last = served.toSorted((a, b) => a.leaf.validToDate.getTime() - b.leaf.validToDate.getTime())[0] ?? first;
  const evidence = `${count(served.length, 'replica')} checked (${[...new Set(served.map(({ way }) => way))].join(', ')}), valid until ${last.leaf.validToDate.toISOString()}`;
  return last.leaf.validToDate.getTime() < now.getTime() + EXPIRES_SOON_MS
    ? finding('note', `${evidence}, which is soon`, renewal(facts))
    : finding('ok', evidence);
}

/** Checks that the served certificates are for the server name of the API server's TLS handshake. */
export function checkNames(facts: Facts): Finding {
  const { serverName, installation } = facts;
  const served = servedBy(facts);
  if (served.length === 0) return finding('skipped', unservedReason(facts));
  const wrong = served.filter(({ leaf }) => uncoveredNames(leaf, [serverName]).length > 0);
  if (wrong.length === 0) return finding('ok', `for ${serverName}`);
  const namesIn = ({ leaf }: Served) => namesText(leaf);
  const wrongNames = describeGroups(
    wrong,
    namesIn,
    (group) => `the certificate of ${group.map(({ replica }) => replica).join(', ')} is for ${namesIn(group[0])}`,
  );
  return finding(
    'problem',
    `the API server asks for ${serverName}, and ${wrongNames}`,
    `is taintkeeper in namespace ${installation.namespace} (--namespace)? If so, ${renewal(facts)}`,
  );
}

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
