import { CERTIFICATE_NAMES } from './certificate-names.ts';
import { CHANGED_REGISTRATION } from './changed-registration.ts';
import { CONTRADICTING_TAINT } from './contradicting-taint.ts';
import { CONTROL_PLANE } from './control-plane-taint.ts';
import { DEPRECATED_FIELD, FIELD_VERSION } from './field-version.ts';
import type { Rule } from './finding.ts';
import { MALFORMED } from './malformed.ts';
import { MISPLACED_FLAG } from './misplaced-flag.ts';
import { TWO_SHAPES } from './two-shapes.ts';
import { MISPLACED_FIELD, UNKNOWN_FIELD } from './unknown-field.ts';
import { WORKER_LABEL } from './worker-label.ts';
import { WORKER_TAINT } from './worker-taint.ts';

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
