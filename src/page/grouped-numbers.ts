import { count, groupedNumber } from '../kubernetes/text.ts';

/** `1 node`, `5,000 nodes`. */
export const groupedCount = (value: number, one: string) =>
  count(value, one).replace(String(value), groupedNumber(value));
