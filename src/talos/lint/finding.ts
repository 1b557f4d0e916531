import type { Path } from '../../policy/problem.ts';
import type { FieldLocation } from '../declared.ts';
import type { MachineConfiguration, MachineRole } from '../machine-configuration.ts';

/**
 * What comes of it, the worst first: Talos, or a program that it starts, `refused` what is written; it is taken, and does not
 * do what its author thinks (`no-effect`); it does, and a later Talos will not have it (`deprecated`).
 */
export const SEVERITIES = ['refused', 'no-effect', 'deprecated'] as const;
export type Severity = (typeof SEVERITIES)[number];

/** Whether the one is as bad as the other, or worse. */
export function isAtLeast(severity: Severity, other: Severity): boolean {
  return SEVERITIES.indexOf(severity) <= SEVERITIES.indexOf(other);
}

/** Something in a configuration that will not do what its author thinks. */
export interface LintFinding extends FieldLocation {
  readonly rule: string;
  readonly severity: Severity;
  /** What will happen, and why. Names keys, taints and labels; never another value, which may be a secret. */
  readonly reason: string;
  /** What to write instead. */
  readonly fix: string;
}

/** What rules judge. */
export interface LintSubject {
  readonly configuration: MachineConfiguration;
  /** What the configuration says, or whoever asks; undefined for a patch that may be for either. */
  readonly role: MachineRole | undefined;
  /** The minor version of Talos 1 that reads it; undefined where nobody says: what every version agrees on is reported. */
  readonly version: number | undefined;
  /** The configuration that the node registered with, where there is one to compare with. */
  readonly registered: MachineConfiguration | undefined;
}

/** What a rule has to say; its own severity goes without saying. */
export type RuleFinding = Omit<LintFinding, 'rule' | 'severity'> & { readonly severity?: Severity };

/** One kind of finding. */
export interface Rule {
  /** Stable: for people who look it up, or filter by it. */
  readonly id: string;
  /** Of its findings, unless one says otherwise. */
  readonly severity: Severity;
  /** One sentence for the reference page. */
  readonly about: string;
  check(subject: LintSubject): RuleFinding[];
}

export const MALFORMED: Rule = {
  id: 'malformed',
  severity: 'refused',
  about:
    'A taint or label that cannot be parsed. Talos takes `value:Effect` or `Effect`, the kubelet `key=value:Effect` or `key:Effect`; the effects are NoSchedule, PreferNoSchedule and NoExecute.',
  check: ({ configuration }) =>
    configuration.malformed.map(({ document, path, problem, expected }) => ({
      document,
      path,
      reason: `${problem}: ${consequence(path)}`,
      fix: `write ${expected}`,
    })),
};

function consequence(path: Path): string {
  if (path.includes('extraArgs')) return 'the kubelet does not start';
  if (path.includes('registerWithTaints')) return 'the node cannot register';
  return 'Talos refuses the configuration';
}
