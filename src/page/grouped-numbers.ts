import { count } from '../kubernetes/text.ts';

/** `5,000`. */
export const groupedNumber = (value: number) => value.toLocaleString('en');
/** `1 node`, `5,000 nodes`. */
export const groupedCount = (value: number, one: string) =>
  count(value, one).replace(String(value), groupedNumber(value));
