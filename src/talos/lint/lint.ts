import { FIRST_VERSION, LAST_VERSION } from '../fields.ts';
import type { MachineConfiguration, MachineRole } from '../machine-configuration.ts';
import { textAt } from '../tree.ts';
import { CERTIFICATE_NAMES } from './certificate-names.ts';
import { CHANGED_REGISTRATION } from './changed-registration.ts';
import { DEPRECATED_FIELD, FIELD_VERSION } from './field-version.ts';
import { type Finding, type LintSubject, MALFORMED, type Rule } from './finding.ts';
import { MISPLACED_FLAG } from './misplaced-flag.ts';
import { CONTRADICTING_TAINT, CONTROL_PLANE, WORKER_TAINT } from './taints.ts';
import { TWO_SHAPES } from './two-shapes.ts';
import { MISPLACED_FIELD, UNKNOWN_FIELD } from './unknown-field.ts';
import { WORKER_LABEL } from './worker-label.ts';

/** All rules, as the reference page lists them. */
export const RULES: readonly Rule[] = [
  MALFORMED,
  WORKER_TAINT,
  CHANGED_REGISTRATION,
  CONTRADICTING_TAINT,
  CONTROL_PLANE,
  WORKER_LABEL,
  TWO_SHAPES,
  MISPLACED_FIELD,
  MISPLACED_FLAG,
  CERTIFICATE_NAMES,
  UNKNOWN_FIELD,
  FIELD_VERSION,
  DEPRECATED_FIELD,
];

/** What whoever asks knows, and a configuration may not say. */
export interface LintOptions {
  /** Minor version of Talos 1. */
  readonly version?: number | undefined;
  /** The role of patches that do not say theirs. */
  readonly role?: MachineRole | undefined;
  /** The configuration that the nodes registered with. */
  readonly registered?: MachineConfiguration | undefined;
}

/** Everything in the configuration that will not do what its author thinks, in the order of the rules. Empty when all is well. */
export function lint(configuration: MachineConfiguration, options: LintOptions = {}): Finding[] {
  const subject: LintSubject = {
    configuration,
    role: configuration.role ?? options.role,
    version: options.version ?? installedVersion(configuration),
    registered: options.registered,
  };
  return RULES.flatMap((rule) => rule.check(subject).map((finding) => ({ rule: rule.id, ...finding })));
}

/** The minor version that `machine.install.image` installs: `…/installer:v1.13.2`; of those that are known, the nearest one. */
function installedVersion({ documents }: MachineConfiguration): number | undefined {
  for (const document of documents) {
    const image = textAt(document, ['machine', 'install', 'image']);
    const minor = /:v1\.(\d+)\.\d+/.exec(image ?? '')?.[1];
    if (minor !== undefined) return Math.min(Math.max(Number(minor), FIRST_VERSION), LAST_VERSION);
  }
  return undefined;
}
