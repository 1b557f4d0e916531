import type { Toleration } from '../kubernetes/toleration.ts';

/** The fields of a pod, or of a template of pods, that decide which keys need authorization. */
export interface ToleratingPod {
  readonly namespace: string;
  /** Empty if the spec names none: then it is `default`. */
  readonly serviceAccount: string;
  /** At the creation of the pod. The scheduler sets it later. */
  readonly nodeName: string;
  readonly tolerations: readonly Toleration[];
}

/** Kinds with pods, or with a template of them. */
export const TOLERATOR_KINDS = ['Pod', 'DaemonSet', 'Deployment', 'StatefulSet', 'Job', 'CronJob'] as const;
export type ToleratorKind = (typeof TOLERATOR_KINDS)[number];

/** A pod, or a workload that creates pods. */
export interface Tolerator {
  readonly kind: ToleratorKind;
  readonly name: string;
  readonly pod: ToleratingPod;
}
