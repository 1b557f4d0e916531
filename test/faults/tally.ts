import { isRight, type Judged, type RequestKind, type Result } from './judged-answer.ts';

/** One request and how it ended. Times are those of performance.now(). */
export interface Sample extends Judged {
  readonly kind: RequestKind;
  readonly sentAt: number;
  readonly endedAt: number;
}

/** So many requests in a row have to end rightly before it counts as recovered: four of each kind. */
export const IN_A_ROW = 20;

export type Counts = Readonly<Record<Result, number>>;

export function countResults(samples: readonly Judged[]): Counts {
  const counts = { admitted: 0, refused: 0, missed: 0, failed: 0, wrong: 0 };
  for (const { result } of samples) counts[result]++;
  return counts;
}

/** Why requests failed or are wrong, each reason with how often, the most frequent first. */
export function countReasons(samples: readonly Judged[]): [reason: string, count: number][] {
  const counts = new Map<string, number>();
  for (const { why } of samples) if (why !== undefined) counts.set(why, (counts.get(why) ?? 0) + 1);
  return [...counts].toSorted(([, one], [, other]) => other - one);
}

/**
 * The time from `since` until requests end rightly again, in milliseconds: to the answer of the first of {@link IN_A_ROW} that
 * were sent one after the other and all ended rightly. Undefined while there are no such.
 */
export function recoveredAfterMs(samples: readonly Sample[], since: number): number | undefined {
  const later = samples.filter(({ sentAt }) => sentAt >= since).toSorted((one, other) => one.sentAt - other.sentAt);
  let run = 0;
  for (const [index, sample] of later.entries()) {
    run = isRight(sample) ? run + 1 : 0;
    const first = later[index - IN_A_ROW + 1];
    if (run === IN_A_ROW && first) return first.endedAt - since;
  }
  return undefined;
}
