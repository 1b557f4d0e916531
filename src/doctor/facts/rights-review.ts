import { CONFIGURATION_NAME } from '../../cluster/admission-registration/webhook-configurations.ts';
import type { ApiClient } from '../../cluster/client/api-client.ts';
import { isForbidden } from '../../cluster/client/api-error.ts';
import { OWN_LEASE } from '../../cluster/installation/own-names.ts';
import { type Access, type AccessSubject, accessesOf, isAllowed, whoAmI } from '../../cluster/rights/access-review.ts';
import {
  type NamedObjects,
  NEEDED_RULES,
  type NeededRule,
  OPTIONAL_RIGHT_NAMES,
  OPTIONAL_RIGHTS,
} from '../../cluster/rights/rights.ts';
import { serviceAccountUser } from '../../kubernetes/system-users.ts';
import type { OptionalRight } from '../../policy/required-rights.ts';
import { OWN_CERTIFICATES } from './certificate-source.ts';
import type { Installation } from './installation.ts';

/** What the service account may do, by the API server's access reviews. */
export interface RightsReview {
  readonly user: string;
  readonly reviewed: number;
  /** What it may not do. */
  readonly missingNeeded: readonly Access[];
  /** The missing rights among those that only some policies need. */
  readonly missingOptional: readonly OptionalRight[];
}

/** The rights that the service account needs with any policies. */
export function neededRights(installation: Installation): Access[] {
  const certificates = installation.deployment?.certificates ?? OWN_CERTIFICATES;
  const names: NamedObjects = {
    ...installation,
    lease: OWN_LEASE,
    secret: certificates.kind === 'secret' ? certificates.secret : undefined,
  };
  return Object.entries(NEEDED_RULES).flatMap(([scope, rules]) =>
    rules
      .filter(({ only }) => only === undefined || names[only] !== undefined)
      .flatMap((rule) =>
        accessesOf(rule).map((access) => ({
          ...access,
          name: nameOf(rule.named),
          namespace: scope === 'namespace' ? names.namespace : undefined,
        })),
      ),
  );

  function nameOf(named: NeededRule['named']): string | undefined {
    return named === 'configurations' ? CONFIGURATION_NAME : named && names[named];
  }
}

/**
 * Reviews the rights of the service account. A user without the right to review others can still review its own rights. In taintkeeper's
 * pod, that user is the service account.
 * @throws ApiError, Error
 */
export async function reviewRights(client: ApiClient, installation: Installation): Promise<RightsReview> {
  const { namespace, account } = installation;
  const user = serviceAccountUser(namespace, account);
  const groups = ['system:serviceaccounts', `system:serviceaccounts:${namespace}`, 'system:authenticated'];
  const needed = neededRights(installation);
  const subject = await subjectToAsk({ user, groups });

  // Both are awaited together: a rejection that is not awaited yet would end the program.
  const [missingNeeded, missingOptional] = await Promise.all([
    lackingOf(needed),
    Promise.all(
      OPTIONAL_RIGHT_NAMES.map(async (name) => {
        const missing = await lackingOf(accessesOf(OPTIONAL_RIGHTS[name]));
        return missing.length > 0 ? [name] : [];
      }),
    ),
  ]);
  return { user, reviewed: needed.length, missingNeeded, missingOptional: missingOptional.flat() };

  async function lackingOf(accesses: readonly Access[]): Promise<Access[]> {
    const allowed = await Promise.all(accesses.map((access) => isAllowed(client, access, subject)));
    return accesses.filter((_, index) => !allowed[index]);
  }

  /**
   * Undefined if only the user's own rights can be reviewed, and the user is the service account.
   * @throws ApiError if neither works
   */
  async function subjectToAsk(account: AccessSubject): Promise<AccessSubject | undefined> {
    try {
      await isAllowed(client, { verb: 'get', group: '', resource: 'nodes' }, account);
      return account;
    } catch (error) {
      if (isForbidden(error) && (await whoAmI(client)).username === user) return undefined;
      throw error;
    }
  }
}
