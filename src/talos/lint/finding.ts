import type { FieldLocation } from '../field-location.ts';
import type { MachineConfiguration, MachineRole } from '../machine-configuration.ts';

/**
 * The effect, the worst first. `refused`: Talos, or a program that it starts, refuses the configuration. `no-effect`: Talos accepts it, and it does
 * not have the intended effect. `deprecated`: it has an effect, and a later Talos will refuse it.
 */
export const SEVERITIES = ['refused', 'no-effect', 'deprecated'] as const;
export type Severity = (typeof SEVERITIES)[number];

/** Whether the first is at least as bad as the second. */
export function isAtLeast(severity: Severity, other: Severity): boolean {
  return SEVERITIES.indexOf(severity) <= SEVERITIES.indexOf(other);
}

/** A part of a configuration that does not have the intended effect. */
export interface LintFinding extends FieldLocation {
  readonly rule: string;
  readonly severity: Severity;
  /** The effect and its cause. Names keys, taints and labels, never another value, which may be a secret. */
  readonly reason: string;
  /** What to write instead. */
  readonly fix: string;
}

/** The input of the rules. */
export interface LintSubject {
  readonly configuration: MachineConfiguration;
  /** From the configuration or the user. Undefined for a patch that may be for either. */
  readonly role: MachineRole | undefined;
  /** The minor version of Talos 1 that reads it. Undefined if it is not known: then most findings that depend on it are left out (scripts/talos-lint-page.ts). */
  readonly version: number | undefined;
  /** Its patch: 2 of 1.13.2. Undefined if it is not known. */
  readonly patch: number | undefined;
  /** The configuration that the node registered with, for comparison. */
  readonly registered: MachineConfiguration | undefined;
}

/** The finding of a rule. Without a severity, it has the rule's own. */
export type RuleFinding = Omit<LintFinding, 'rule' | 'severity'> & { readonly severity?: Severity };

/** One kind of finding. */
export interface Rule {
  /** Stable, because users look it up and filter by it. */
  readonly id: string;
  /** The severity of its findings, unless one has its own. */
  readonly severity: Severity;
  /** Set if the rule would report the new fields of a Talos that is newer than the known versions. It does not run for such a version. */
  readonly needsKnownVersion?: true;
  /** One sentence for the reference page. */
  readonly about: string;
  check(subject: LintSubject): RuleFinding[];
}
