import { oncePer } from '../collections/once-per.ts';
import type { Toleration } from '../kubernetes/toleration.ts';
import {
  compileDaemonSetSelection,
  type DaemonSetSelection,
  type SelectableDaemonSet,
} from './daemon-set-selection.ts';
import type { TolerationPolicy } from './policy.ts';
import { patchesExisting, TOLERATION_MODES, type TolerationMode, tolerationsOf } from './toleration-policy.ts';

/** A toleration of a policy, with its field. */
export interface StatedToleration {
  readonly value: Toleration;
  /** For example `spec.tolerations[0]`. */
  readonly field: string;
}

/** A TolerationPolicy as it is enforced. */
export interface CompiledTolerationPolicy {
  readonly kind: 'TolerationPolicy';
  readonly name: string;
  readonly mode: TolerationMode;
  /** {@link mode} is also Audit if `audit` is set. */
  readonly declaredMode: TolerationMode;
  /** 0 for the strongest mode. */
  readonly rank: number;
  readonly daemonSets: DaemonSetSelection;
  readonly tolerations: readonly StatedToleration[];
  /** Whether the leader changes DaemonSets that already run. Never with Audit. */
  readonly patchesExisting: boolean;
  selectsDaemonSet(daemonSet: SelectableDaemonSet): boolean;
}

/** @param mode the effective mode */
export function compileTolerationPolicy(
  { kind, name, spec }: TolerationPolicy,
  mode: TolerationMode = spec.mode,
): CompiledTolerationPolicy {
  return {
    kind,
    name,
    mode,
    declaredMode: spec.mode,
    rank: TOLERATION_MODES.indexOf(mode),
    daemonSets: spec.daemonSets,
    tolerations: tolerationsOf(spec).map((value, index) => ({ value, field: `spec.tolerations[${index}]` })),
    patchesExisting: patchesExisting(spec, mode),
    selectsDaemonSet: compileDaemonSetSelection(spec.daemonSets),
  };
}

/** The policies in mode Mutate. Returns the same list each time, because what they require is cached by list. */
export const mutatingAmong = oncePer((policies: readonly CompiledTolerationPolicy[]) =>
  policies.filter(({ mode }) => mode === 'Mutate'),
);
