import type { Logger } from 'pino';
import type { ApiClient } from '../../cluster/client/api-client.ts';
import { isPermitted, notPermitted, OPTIONAL_RIGHT_NAMES } from '../../cluster/optional-rights.ts';
import type { PolicyObject } from '../../cluster/policies.ts';
import { askedRights, type OptionalRight } from '../../policy/backstop.ts';
import { createSubject } from '../../runtime/source.ts';
import { type Controller, type LeaderContext, type Rights, startController } from '../context.ts';
import type { Trouble } from '../reports.ts';

/** While a policy waits for a right that somebody may be about to grant. */
const WAITING_MS = 10_000;
const LOOK_AGAIN_MS = 60_000;

export interface PermissionsOptions {
  readonly client: ApiClient;
  readonly objects: () => readonly PolicyObject[];
  /** Every policy is taken to be in mode Audit. */
  readonly audit: boolean;
  readonly log: Logger;
}

export interface Permissions extends Rights {
  /** One run. Gives the time until the next look, in milliseconds. */
  reconcile(): Promise<number>;
  /** The policies that ask for what is not permitted. Of native policies their condition says so. */
  troubles(): readonly Trouble[];
}

/**
 * Asks the API server before anything is tried: what is not permitted would fail for each object anew, in logs, Events and its audit
 * log, and a policy would say so only once there is something to do.
 */
export function permissions({ client, objects, audit, log }: PermissionsOptions): Permissions {
  const changes = createSubject();
  let permitted: ReadonlyMap<OptionalRight, boolean> = new Map();
  /** What was logged of. */
  let told = new Set<string>();

  return {
    async reconcile() {
      const answers = await Promise.all(
        OPTIONAL_RIGHT_NAMES.map(async (right) => [right, await isPermitted(client, right)] as const),
      );
      const hasChanged = answers.some(([right, allowed]) => permitted.get(right) !== allowed);
      permitted = new Map(answers);
      const lacking = found();
      for (const { message } of lacking) if (!told.has(message)) log.warn(message);
      told = new Set(lacking.map(({ message }) => message));
      if (hasChanged) changes.next();
      return lacking.length > 0 ? WAITING_MS : LOOK_AGAIN_MS;
    },
    permits: (right) => permitted.get(right),
    changes,
    troubles: () => found().flatMap(({ right, trouble }) => (right === 'nativePolicies' ? [] : [trouble])),
  };

  function found() {
    return objects().flatMap(({ kind, name: policy, result }) => {
      const asked = result.ok ? askedRights(result.policy, audit) : [];
      return asked
        .filter(({ right }) => permitted.get(right) === false)
        .map(({ right, by }) => {
          const message = notPermitted(right, by);
          const trouble: Trouble = { kind, policy, reason: 'NotPermitted', message };
          return { right, trouble, message: `${kind} ${policy}: ${message}` };
        });
    });
  }
}

type Context = Pick<LeaderContext, 'policies' | 'reports' | 'metrics' | 'log' | 'signal'> & {
  readonly rights: Permissions;
};

/** Keeps asking for what the policies need. */
export function startPermissions(context: Context): Controller {
  const { policies, rights, reports, signal } = context;
  const changed = reports.add({ troubles: rights.troubles });
  const reconciler = startController(context, 'permissions', rights.reconcile);
  policies.changes.subscribe(() => reconciler.restart(), signal);
  rights.changes.subscribe(changed, signal);
  return reconciler;
}
