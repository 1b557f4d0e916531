import type { PodView } from './authorization.ts';

/** Kinds with pods, or with a template of them. */
export const TOLERATOR_KINDS = ['Pod', 'DaemonSet', 'Deployment', 'StatefulSet', 'Job', 'CronJob'] as const;
export type ToleratorKind = (typeof TOLERATOR_KINDS)[number];

/** A pod, or a workload that creates pods. */
export interface Tolerator {
  readonly kind: ToleratorKind;
  readonly name: string;
  readonly pod: PodView;
}
