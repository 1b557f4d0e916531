import { invalidAt } from '../../certs/inspect.ts';
import { EXPIRES_SOON_MS } from '../../certs/stored-faults.ts';
import { count } from '../../text/counts.ts';
import { consequence, type Finding, finding } from '../check.ts';
import { describeGroups } from '../describe-groups.ts';
import { type Facts, trustedTime } from '../facts/facts.ts';
import { renewal } from '../renewal.ts';
import { servedBy, unservedReason } from '../served.ts';

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
