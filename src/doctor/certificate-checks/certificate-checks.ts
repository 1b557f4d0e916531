import type { CheckResult } from '../check.ts';
import type { Facts } from '../facts.ts';
import { checkAgreement } from './agreement.ts';
import { checkClocks } from './clocks.ts';
import { checkNames } from './names.ts';
import { checkSecret } from './secret.ts';
import { checkServing } from './serving.ts';
import { checkTrust } from './trust.ts';

/** Whether the API server has every reason to accept what the replicas serve. Each cause is reported by one check alone. */
export function certificateChecks(facts: Facts): CheckResult[] {
  const clocks = checkClocks(facts);
  const serving = checkServing(facts, clocks);
  const agreement = checkAgreement(facts, serving);
  return [checkSecret(facts), serving, checkNames(facts), agreement, checkTrust(facts, serving, agreement), clocks];
}
