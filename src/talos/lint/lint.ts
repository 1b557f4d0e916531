import type { MachineConfiguration, MachineRole } from '../machine-configuration.ts';
import { FIRST_VERSION, LAST_VERSION } from '../versions.ts';
import { CERTIFICATE_NAMES } from './certificate-names.ts';
import { CHANGED_REGISTRATION, OWNED_TAINT } from './changed-registration.ts';
import { CONTROL_PLANE_DOCUMENT } from './control-plane-document.ts';
import { CONTRARY_CONTROL_PLANE_TAINT, CONTROL_PLANE_LABEL } from './control-plane-marks.ts';
import { DEPRECATED_FIELD, FIELD_VERSION } from './field-version.ts';
import type { LintFinding, LintSubject, Rule } from './finding.ts';
import { installedVersion } from './installed-version.ts';
import { KUBELET_CONFIGURATION, KUBELET_FIELD } from './kubelet-configuration.ts';
import { MALFORMED } from './malformed.ts';
import { MANAGED_ARGUMENT } from './managed-argument.ts';
import { MISPLACED_FLAG } from './misplaced-flag.ts';
import { NOTATION } from './notation.ts';
import { CONTRADICTING_TAINT, DUPLICATE_TAINT } from './taint-conflicts.ts';
import { SAME_NAME, TWO_SHAPES } from './two-shapes.ts';
import { MISPLACED_FIELD, UNKNOWN_FIELD } from './unknown-field.ts';
import { INCOMPLETE, PATCH_DIRECTIVE, PERSIST } from './whole-configuration.ts';
import { WORKER_LABEL } from './worker-label.ts';
import { WORKER_TAINT } from './worker-taint.ts';
import { WRONG_TYPE } from './wrong-type.ts';

/** All rules, as the reference page lists them. */
export const RULES: readonly Rule[] = [
  MALFORMED,
  DUPLICATE_TAINT,
  WORKER_TAINT,
  CHANGED_REGISTRATION,
  OWNED_TAINT,
  CONTRADICTING_TAINT,
  CONTRARY_CONTROL_PLANE_TAINT,
  CONTROL_PLANE_LABEL,
  WORKER_LABEL,
  TWO_SHAPES,
  SAME_NAME,
  CONTROL_PLANE_DOCUMENT,
  MISPLACED_FIELD,
  MISPLACED_FLAG,
  MANAGED_ARGUMENT,
  CERTIFICATE_NAMES,
  UNKNOWN_FIELD,
  WRONG_TYPE,
  NOTATION,
  KUBELET_FIELD,
  KUBELET_CONFIGURATION,
  INCOMPLETE,
  PATCH_DIRECTIVE,
  PERSIST,
  FIELD_VERSION,
  DEPRECATED_FIELD,
];

/** What the user knows, and a configuration may not contain. */
export interface LintOptions {
  /** Minor version of Talos 1. */
  readonly version?: number | undefined;
  /** Its patch, if it is known: 2 of 1.13.2. */
  readonly patch?: number | undefined;
  /** The role of patches that do not name theirs. */
  readonly role?: MachineRole | undefined;
  /** The configuration that the nodes registered with. */
  readonly registered?: MachineConfiguration | undefined;
  /** Disabled rules. */
  readonly disabled?: readonly string[];
}

/** All parts of the configuration that do not have the intended effect, in the order of the rules. Empty if there are none. */
export function lint(configuration: MachineConfiguration, options: LintOptions = {}): LintFinding[] {
  const { version, patch } = options.version === undefined ? installedVersion(configuration) : options;
  const subject: LintSubject = {
    configuration,
    role: configuration.role ?? options.role,
    patch,
    version: version === undefined ? undefined : Math.min(Math.max(version, FIRST_VERSION), LAST_VERSION),
    registered: options.registered,
  };
  const isNewer = version !== undefined && version > LAST_VERSION;
  return RULES.filter(
    ({ id, needsKnownVersion }) => !options.disabled?.includes(id) && !(isNewer && needsKnownVersion),
  ).flatMap((rule) => rule.check(subject).map((finding) => ({ rule: rule.id, severity: rule.severity, ...finding })));
}
