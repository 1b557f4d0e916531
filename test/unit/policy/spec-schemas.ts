import type { PolicyKind } from '../../../src/policy/policy.ts';
import { RecoveryPolicySpecSchema } from '../../../src/policy/recovery-policy.ts';
import { TaintPolicySpecSchema } from '../../../src/policy/taint-policy.ts';
import { TolerationPolicySpecSchema } from '../../../src/policy/toleration-policy.ts';
import { TolerationRestrictionSpecSchema } from '../../../src/policy/toleration-restriction.ts';

export const SPEC_SCHEMAS = {
  TaintPolicy: TaintPolicySpecSchema,
  TolerationPolicy: TolerationPolicySpecSchema,
  TolerationRestriction: TolerationRestrictionSpecSchema,
  RecoveryPolicy: RecoveryPolicySpecSchema,
} satisfies Record<PolicyKind, object>;
