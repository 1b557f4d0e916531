import { excerptOf } from '../../../src/admission/excerpt.ts';

/** The labels that policies ask for. */
export const LABELS = new Set(['a', 'pool']);

// biome-ignore lint/suspicious/noExplicitAny: as JSON.parse has it
export const excerpt = (value: unknown, labels: ReadonlySet<string> = LABELS): any =>
  excerptOf(Buffer.from(JSON.stringify(value)), labels);

/** So many taints, numbered from 0. */
export const taintsOf = (name: string, count: number) =>
  Array.from({ length: count }, (_, n) => ({ key: `${name}${n}`, effect: 'NoSchedule' }));
