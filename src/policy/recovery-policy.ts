import type { Static } from 'typebox';
import * as Type from 'typebox';
import {
  compileDaemonSetSelection,
  DaemonSetSelectionSchema,
  type SelectableDaemonSet,
} from './daemon-set-selection.ts';

const RECOVERY_MODES = ['Recover', 'Audit'] as const;
export type RecoveryMode = (typeof RECOVERY_MODES)[number];

/** Defaults of omitted fields. */
export const RECOVERY_DEFAULTS = {
  mode: 'Recover',
  stuckSeconds: 10,
  perNode: 3,
  windowSeconds: 600,
} as const;

const Whole = (description: string, value: number, minimum: number, maximum: number) =>
  Type.Optional(Type.Integer({ description, format: 'int32', default: value, minimum, maximum }));

/** `spec` of a RecoveryPolicy: the source of the TypeScript type, the validation and the CRD. */
export const RecoveryPolicySpecSchema = Type.Object(
  {
    mode: Type.Optional(
      Type.Enum([...RECOVERY_MODES], {
        default: RECOVERY_DEFAULTS.mode,
        description:
          'What happens to a pod that is stuck. Recover: it is deleted, and the DaemonSet controller creates the next one at once. Audit: it is reported.',
      }),
    ),
    daemonSets: DaemonSetSelectionSchema,
    stuckSeconds: Whole(
      'How many seconds a pod has to be Failed, on a node that is Ready, before it counts as stuck. The next one for the ' +
        'same node and DaemonSet has to be so for twice as long, and so on.',
      RECOVERY_DEFAULTS.stuckSeconds,
      1,
      3_600,
    ),
    budget: Type.Optional(
      Type.Object(
        {
          perNode: Whole(
            'How often the pods of one DaemonSet on one node are freed within the window.',
            RECOVERY_DEFAULTS.perNode,
            1,
            100,
          ),
          windowSeconds: Whole('Length of the window, in seconds.', RECOVERY_DEFAULTS.windowSeconds, 60, 86_400),
        },
        { description: 'Anything beyond it is left to the DaemonSet controller.', additionalProperties: false },
      ),
    ),
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
  readonly stuckMs: number;
  /** How many times the leader deletes a pod within the window. */
  readonly budget: { readonly limit: number; readonly windowMs: number };
  selectsDaemonSet(daemonSet: SelectableDaemonSet): boolean;
}

/** @param mode the effective mode */
export function compileRecoveryPolicy(
  { name, spec }: { readonly name: string; readonly spec: RecoveryPolicySpec },
  mode: RecoveryMode,
): CompiledRecoveryPolicy {
  const { stuckSeconds, perNode, windowSeconds } = { ...RECOVERY_DEFAULTS, ...spec, ...spec.budget };
  return {
    kind: 'RecoveryPolicy',
    name,
    mode,
    rank: RECOVERY_MODES.indexOf(mode),
    stuckMs: 1_000 * stuckSeconds,
    budget: { limit: perNode, windowMs: 1_000 * windowSeconds },
    selectsDaemonSet: compileDaemonSetSelection(spec.daemonSets),
  };
}
