import type { ApiClient } from '../../cluster/client/api-client.ts';
import type { ClusterPolicies } from '../../cluster/policies/policies.ts';
import { isPermitted } from '../../cluster/rights/access-review.ts';
import { missingRightText } from '../../cluster/rights/rights.ts';
import { type OptionalRight, requiredRights } from '../../policy/required-rights.ts';
import { createSubject } from '../../runtime/source.ts';
import { type Controller, type Run, startControllerReconciler } from '../controller.ts';
import type { Rights } from '../optional-rights.ts';
import type { ReportedProblem, Reports } from '../reports.ts';

/** The interval while a policy needs a missing right, which the user may be about to grant. */
const CHECK_SOON_MS = 10_000;
const CHECK_AGAIN_MS = 60_000;

export interface RightsCheckOptions {
  readonly client: ApiClient;
  readonly policies: Pick<ClusterPolicies, 'objects' | 'changes'>;
  /** Every policy is taken to be in mode Audit. */
  readonly audit: boolean;
  readonly reports: Pick<Reports, 'add'>;
}

/**
 * Checks the rights that policies need, and those that controllers have asked for. Without this check, each request would fail, in logs, Events and
 * the audit log, and the status of a policy would report it only after the first request.
 */
export function startRightsCheck(run: Run, options: RightsCheckOptions): Rights & Controller {
  const { client, policies, audit, reports } = options;
  const { signal, log } = run;
  const changes = createSubject();
  /** The rights that controllers have asked for. */
  const askedAbout = new Set<OptionalRight>();
  let permitted: ReadonlyMap<OptionalRight, boolean> = new Map();
  /** The problems that were logged: each is logged once. */
  let logged = new Set<string>();
  reports.add('rights', {
    changes,
    // For native policies, another condition reports it.
    problems: () => found().flatMap(({ right, problem }) => (right === 'nativePolicies' ? [] : [problem])),
  });
  const reconciler = startControllerReconciler(run, 'permissions', reconcile);
  policies.changes.subscribe(() => reconciler.restart(), signal);

  return {
    permits(right) {
      if (!askedAbout.has(right)) {
        askedAbout.add(right);
        if (!permitted.has(right)) reconciler.restart();
      }
      return permitted.get(right);
    },
    changes,
    stop: reconciler.stop,
  };

  async function reconcile(): Promise<number> {
    const rights = new Set([...askedAbout, ...askedByPolicies().map(({ right }) => right)]);
    const answers = await Promise.all(
      [...rights].map(async (right) => [right, await isPermitted(client, right)] as const),
    );
    const hasChanged = answers.some(([right, allowed]) => permitted.get(right) !== allowed);
    permitted = new Map(answers);
    const problems = found();
    for (const { message } of problems) if (!logged.has(message)) log.warn(message);
    logged = new Set(problems.map(({ message }) => message));
    if (hasChanged) changes.next();
    return problems.length > 0 ? CHECK_SOON_MS : CHECK_AGAIN_MS;
  }

  /** The policies that need a missing right. */
  function found() {
    return askedByPolicies()
      .filter(({ right }) => permitted.get(right) === false)
      .map(({ kind, policy, right, by }) => {
        const message = missingRightText(right, by);
        const problem: ReportedProblem = { kind, policy, reason: 'NotPermitted', message };
        return { right, problem, message: `${kind} ${policy}: ${message}` };
      });
  }

  function askedByPolicies() {
    return policies
      .objects()
      .flatMap(({ kind, name: policy, result }) =>
        result.ok ? requiredRights(result.policy, audit).map((one) => ({ kind, policy, ...one })) : [],
      );
  }
}
