import { type Access, isAllowed, type Subject, whoAmI } from '../cluster/access-review.ts';
import type { ApiClient } from '../cluster/client/api-client.ts';
import { isForbidden } from '../cluster/client/api-error.ts';
import { accessesOf, NEEDED_RULES, type NeededRule, OPTIONAL_RIGHT_NAMES, OPTIONAL_RIGHTS } from '../cluster/rights.ts';
import { CONFIGURATION_NAME } from '../cluster/webhook-configurations.ts';
import { serviceAccountUser } from '../coverage/authorization.ts';
import type { OptionalRight } from '../policy/asked-rights.ts';
import type { Installation } from './installation.ts';

/** How the API server answered when it was asked for the rights. */
export interface RightsReview {
  readonly user: string;
  readonly asked: number;
  /** What it may not do. */
  readonly lacking: readonly Access[];
  /** What it may not do of that which only some policies ask for. */
  readonly notPermitted: readonly OptionalRight[];
}

/** What the service account has to be allowed whatever the policies are. */
export function neededRights(installation: Installation): Access[] {
  return Object.entries(NEEDED_RULES).flatMap(([scope, rules]) =>
    rules
      .filter(({ only }) => only === undefined || installation[only] !== undefined)
      .flatMap((rule) =>
        accessesOf(rule).map((access) => ({
          ...access,
          name: nameOf(rule.named),
          namespace: scope === 'namespace' ? installation.namespace : undefined,
        })),
      ),
  );

  function nameOf(named: NeededRule['named']): string | undefined {
    return named === 'configurations' ? CONFIGURATION_NAME : named && installation[named];
  }
}

/**
 * Asks the API server what the service account may do. A user who may not ask about others may still ask about itself: in its own
 * pod, that is the service account.
 * @throws ApiError, Error
 */
export async function reviewRights(client: ApiClient, installation: Installation): Promise<RightsReview> {
  const { namespace, account } = installation;
  const user = serviceAccountUser(namespace, account);
  const groups = ['system:serviceaccounts', `system:serviceaccounts:${namespace}`, 'system:authenticated'];
  const needed = neededRights(installation);
  const subject = await subjectToAsk({ user, groups });

  // All are waited for at once: a failure of one that nobody waits for yet would end the program.
  const [lacking, notPermitted] = await Promise.all([
    lackingOf(needed),
    Promise.all(
      OPTIONAL_RIGHT_NAMES.map(async (name) => {
        const missing = await lackingOf(accessesOf(OPTIONAL_RIGHTS[name]));
        return missing.length > 0 ? [name] : [];
      }),
    ),
  ]);
  return { user, asked: needed.length, lacking, notPermitted: notPermitted.flat() };

  async function lackingOf(accesses: readonly Access[]): Promise<Access[]> {
    const allowed = await Promise.all(accesses.map((access) => isAllowed(client, access, subject)));
    return accesses.filter((_, index) => !allowed[index]);
  }

  /**
   * Undefined where only questions about ourselves are answered, and we are the service account.
   * @throws ApiError when neither is of use
   */
  async function subjectToAsk(account: Subject): Promise<Subject | undefined> {
    try {
      await isAllowed(client, { verb: 'get', group: '', resource: 'nodes' }, account);
      return account;
    } catch (error) {
      if (isForbidden(error) && (await whoAmI(client)).username === user) return undefined;
      throw error;
    }
  }
}
