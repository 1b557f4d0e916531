import { invalidAt } from '../../certs/inspect.ts';
import { count } from '../../kubernetes/text.ts';
import { alike } from '../alike.ts';
import type { CheckResult } from '../check.ts';
import { type Facts, trustedTime } from '../facts.ts';
import { renewal } from './renewal.ts';
import { servedBy, unservedReason } from './served.ts';

/** Less than that before the end, whoever renews should have done so: ours are renewed 30 days before theirs. */
const SOON_MS = 14 * 86_400_000;

const AREA = { area: 'certificate', name: 'serving certificate' } as const;

/** Whether what each replica serves is valid now, and for a while; by the API server's clock. */
export function checkServing(facts: Facts, clocks: CheckResult): CheckResult {
  const served = servedBy(facts);
  const [first] = served;
  if (!first) return { ...AREA, state: 'skipped', evidence: unservedReason(facts) };
  const now = trustedTime(facts);
  const invalid = served.flatMap(({ replica, leaf }) => {
    const reason = invalidAt(leaf, now);
    return reason === undefined ? [] : [{ replica, reason }];
  });
  if (invalid.length > 0 && clocks.state === 'trouble' && served.every(({ leaf }) => !invalidAt(leaf, facts.now))) {
    return {
      ...AREA,
      state: 'skipped',
      evidence: `valid by this machine's clock, and not by the API server's: see ${clocks.name}`,
    };
  }
  if (invalid.length > 0) {
    return {
      ...AREA,
      state: 'trouble',
      evidence: `${alike(
        invalid,
        ({ reason }) => reason,
        (group) => `the certificate of ${group.map(({ replica }) => replica).join(', ')} is ${group[0].reason}`,
      )}; it is ${now.toISOString()} now`,
      remedy: renewal(facts),
    };
  }
  const last = served.toSorted((a, b) => a.leaf.validToDate.getTime() - b.leaf.validToDate.getTime())[0] ?? first;
  const evidence = `${count(served.length, 'replica')} dialled (${[...new Set(served.map(({ way }) => way))].join(', ')}), valid until ${last.leaf.validToDate.toISOString()}`;
  return last.leaf.validToDate.getTime() < now.getTime() + SOON_MS
    ? { ...AREA, state: 'note', evidence: `${evidence}: that is soon`, remedy: renewal(facts) }
    : { ...AREA, state: 'ok', evidence };
}
