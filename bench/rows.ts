import { printHead, printRow } from './markdown-table.ts';
import { median } from './statistics.ts';

/** What one round has measured. */
export interface Sample {
  readonly seconds: number;
  /** What a bare loop took for as much, in the same round. */
  readonly bareSeconds?: number;
  /** Of the leader, in MiB. */
  readonly memory?: { readonly now: number; readonly peak: number };
  /** The leader's, in words. */
  readonly requests?: string;
}

/** The rows of a Markdown table, from rounds that measure the same things. */
export interface Rows {
  add(what: string, sample: Sample): void;
  /** Medians with their ranges, the highest peak, and the requests of the last round. */
  print(): void;
}

const HEADINGS = ['nodes', 'what', 'median', 'range', 'ratio', 'peak RSS', 'RSS at the end', 'requests'];

export function printHeadings(): void {
  printHead(...HEADINGS);
}

/** @param nodes the first cell of each row */
export function createRows(nodes: string): Rows {
  const rows = new Map<string, Sample[]>();
  return {
    add(what, sample) {
      rows.set(what, [...(rows.get(what) ?? []), sample]);
    },
    print() {
      for (const [what, samples] of rows) printRow(nodes, what, ...cellsOf(samples));
    },
  };
}

function cellsOf(samples: readonly Sample[]): string[] {
  const times = samples.map(({ seconds }) => seconds);
  const ratios = samples.flatMap(({ seconds, bareSeconds }) => (bareSeconds ? [seconds / bareSeconds] : []));
  const memory = samples.flatMap((sample) => sample.memory ?? []);
  const mib = (values: readonly number[], of: (values: readonly number[]) => number) =>
    values.length > 0 ? `${of(values).toFixed(0)} MiB` : '';
  return [
    `${median(times).toFixed(1)} s`,
    `${Math.min(...times).toFixed(1)}-${Math.max(...times).toFixed(1)} s`,
    ratios.length > 0 ? median(ratios).toFixed(2) : '',
    mib(
      memory.map(({ peak }) => peak),
      (peaks) => Math.max(...peaks),
    ),
    mib(
      memory.map(({ now }) => now),
      median,
    ),
    samples.at(-1)?.requests ?? '',
  ];
}
