import type { Static } from 'typebox';
import * as Type from 'typebox';
import {
  compileDaemonSetSelection,
  DaemonSetSelectionSchema,
  type SelectableDaemonSet,
} from './daemon-set-selection.ts';

const RECOVERY_MODES = ['Recover', 'Audit'] as const;
export type RecoveryMode = (typeof RECOVERY_MODES)[number];

/** For a policy without `mode`. */
export const DEFAULT_RECOVERY_MODE: RecoveryMode = 'Recover';

export interface RecoveryTimings {
  /**
   * How long a pod has to be Failed on a Ready node before it counts as stuck. The time doubles for each further pod of the same DaemonSet on the same
   * node.
   */
  readonly stuckMs: number;
  /** How many pods of one DaemonSet on one node are deleted within the window. The others are left to the DaemonSet controller. */
  readonly limit: number;
  readonly windowMs: number;
}

/** The DaemonSet controller replaces the first four failed pods earlier: its back-off is 1 s, 2 s, 4 s, 8 s, up to 15 minutes. */
export const RECOVERY_TIMINGS: RecoveryTimings = { stuckMs: 10_000, limit: 3, windowMs: 600_000 };

/** `spec` of a RecoveryPolicy: the source of the TypeScript type, the validation and the CRD. */
export const RecoveryPolicySpecSchema = Type.Object(
  {
    mode: Type.Optional(
      Type.Enum([...RECOVERY_MODES], {
        default: DEFAULT_RECOVERY_MODE,
        description:
          'What happens to a pod that is stuck. Recover: it is deleted, and the DaemonSet controller creates the next one at once. Audit: it is reported.',
      }),
    ),
    daemonSets: DaemonSetSelectionSchema,
  },
  {
    description:
      'Which DaemonSets have their pods freed that stay Failed on a node that is Ready. It needs permission to watch and delete ' +
      'pods, which is off by default.',
    additionalProperties: false,
  },
);

export type RecoveryPolicySpec = Static<typeof RecoveryPolicySpecSchema>;

/** A RecoveryPolicy as it is enforced, with all defaults. */
export interface CompiledRecoveryPolicy {
  readonly kind: 'RecoveryPolicy';
  readonly name: string;
  readonly mode: RecoveryMode;
  /** 0 for the strongest mode. */
  readonly rank: number;
  selectsDaemonSet(daemonSet: SelectableDaemonSet): boolean;
}

/** @param mode the effective mode */
export function compileRecoveryPolicy(
  { name, spec }: { readonly name: string; readonly spec: RecoveryPolicySpec },
  mode: RecoveryMode,
): CompiledRecoveryPolicy {
  return {
    kind: 'RecoveryPolicy',
    name,
    mode,
    rank: RECOVERY_MODES.indexOf(mode),
    selectsDaemonSet: compileDaemonSetSelection(spec.daemonSets),
  };
}
