import { median, range } from '../statistics.ts';

/** One quantity of two programs, measured in turn: the same index is the same round. */
export interface Figure {
  readonly what: string;
  readonly unit: string;
  /** Digits after the point. */
  readonly digits: number;
  readonly before: readonly number[];
  readonly after: readonly number[];
  /** Whether a higher value fails the comparison. */
  readonly isLimited: boolean;
}

/** The ratio above which a value counts as higher. */
export const LIMIT = 1.1;

/** The median of the ratios of the rounds: what else a machine does in a round weighs on both alike. */
export function ratioOf({ before, after }: Figure): number {
  return median(after.map((value, round) => value / (before[round] ?? Number.NaN)));
}

/** Whether each round of the later program took more than every round of the earlier one, and the ratio is above {@link LIMIT}. */
export function isHigher(figure: Figure): boolean {
  return ratioOf(figure) > LIMIT && Math.min(...figure.after) > Math.max(...figure.before);
}

export const HEADINGS = ['what', 'unit', 'before', 'range', 'after', 'range', 'ratio', ''];

export function cellsOf(figure: Figure): string[] {
  const { what, unit, digits, before, after, isLimited } = figure;
  const values = (list: readonly number[]) => [median(list).toFixed(digits), range(list, digits)];
  const verdict = isHigher(figure) ? (isLimited ? 'too high' : 'higher') : '';
  return [what, unit, ...values(before), ...values(after), ratioOf(figure).toFixed(2), verdict];
}
