import type { PolicyObject } from '../../cluster/policies/policy-object.ts';
import { missingRightText } from '../../cluster/rights/rights.ts';
import { type OptionalRight, requiredRights } from '../../policy/required-rights.ts';
import { type Finding, finding, needs } from '../check.ts';
import type { Facts } from '../facts/facts.ts';
import type { Installation } from '../facts/installation.ts';
import { grantCommand } from '../grant-command.ts';

/** Checks the rights that the policies need in addition. */
export function checkOptionalRights({
  rights,
  installation,
  policies,
}: Pick<Facts, 'rights' | 'installation' | 'policies'>): readonly Finding[] {
  return needs({ rights, policies }, ({ rights: { missingOptional: missing }, policies: all }) =>
    all.flatMap((policy) => checkPolicy(policy, missing, installation)),
  );
}

function checkPolicy(
  { kind, name, result }: PolicyObject,
  missing: readonly OptionalRight[],
  installation: Installation,
): Finding[] {
  const asked = result.ok ? requiredRights(result.policy, installation.audit) : [];
  return asked
    .filter(({ right }) => missing.includes(right))
    .map(({ right, by }) =>
      finding('problem', `${kind} ${name}: ${missingRightText(right, by)}`, grantCommand(right, installation)),
    );
}
