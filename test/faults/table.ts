import { tableRow } from '../../bench/markdown-table.ts';
import type { Measured } from './measure.ts';

export const COLUMNS: readonly string[] = [
  'fault',
  'what happens',
  'admitted',
  'refused',
  'failed',
  'missed: repaired, reported, neither',
  'wrong',
  'requests recovered',
  'all recovered',
];

export function rowOf({ scenario, counts, losses, recoveredMs, settledMs }: Measured): string {
  const { admitted, refused, failed, wrong } = counts;
  const fates = `${losses.restored}, ${losses.reported}, ${losses.unreported.length}`;
  const seconds = (ms: number) => `${(ms / 1000).toFixed(1)} s`;
  const numbers = [admitted, refused, failed, fates, wrong].map(String);
  return tableRow(`\`${scenario.name}\``, scenario.what, ...numbers, seconds(recoveredMs), seconds(settledMs));
}
