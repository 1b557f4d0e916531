import { isDeepStrictEqual } from 'node:util';
import type { Logger } from 'pino';
import { isWrittenByLeader, listNative, servedVersions } from '../../cluster/admission-registration/native-policies.ts';
import type { ApiClient } from '../../cluster/client/api-client.ts';
import { isForbidden } from '../../cluster/client/api-error.ts';
import type { ClusterPolicies } from '../../cluster/policies/policies.ts';
import { type PolicyObject, versionOf } from '../../cluster/policies/policy-object.ts';
import { translate as translatePolicy } from '../../native/translate.ts';
import type { NativeTranslation, TranslationOptions } from '../../native/translation.ts';
import { MANAGED_LABELS } from '../../objects/managed-labels.ts';
import { inAudit, type NativelyExpressible, needsNativePolicies } from '../../policy/backstop.ts';
import type { Policy } from '../../policy/policy.ts';
import { type NativeCondition, reported } from '../../policy/reporting/status-conditions.ts';
import { createBackOff } from '../../runtime/back-off.ts';
import { createSubject } from '../../runtime/source.ts';
import { ownedByClusterRole } from '../cluster-role-owner.ts';
import { type Controller, POLICIES_GATHER_MS, type Run, startControllerReconciler } from '../controller.ts';
import type { Rights } from '../optional-rights.ts';
import type { ReportedProblem, Reports } from '../reports.ts';
import {
  type BackstopStates,
  conditionIn,
  leftInForce,
  NO_STATES,
  sameState,
  statesAfterFault,
} from './backstop-states.ts';
import { applyNatives, type NamedPolicy, type NativeRun, type TranslatedPolicy } from './native-run.ts';
import { nativeWriter } from './native-writer.ts';

/**
 * Native policies are listed and not watched. While there is a leader, the webhook enforces the policies, too. The versions that the API server
 * serves change with the API server.
 */
const CHECK_AGAIN_MS = 10_000;
/** The API server checks the types in expressions a moment after they were written. */
const FIRST_CHECK_MS = 500;

export interface BackstopOptions {
  readonly client: ApiClient;
  readonly policies: Pick<ClusterPolicies, 'objects' | 'changes'>;
  readonly rights: Rights;
  /** Every policy is taken to be in mode Audit. */
  readonly audit: boolean;
  /** The namespace of taintkeeper, whose DaemonSets are ignored. */
  readonly namespace: string;
  /** Name of the ClusterRole that owns the bindings, if any. When it is deleted, the native policies are no longer in force. */
  readonly ownerClusterRole: string | undefined;
  readonly reports: Pick<Reports, 'add'>;
}

/** Native policies: those of `backstop: Native`, and those of TolerationRestrictions. */
export interface Backstop {
  /** @returns in how many milliseconds to run again; undefined while no policy requires native policies */
  reconcile(): Promise<number | undefined>;
  /** The condition of the policy. Undefined: the policy requires no native policies. `pending`: not known until the next run. */
  condition(policy: PolicyObject): NativeCondition | 'pending' | undefined;
  /** The policies whose native policies are not in force. */
  problems(): readonly ReportedProblem[];
}

export function startBackstop(run: Run, options: BackstopOptions): Controller {
  const { policies, rights, reports } = options;
  const { signal, log } = run;
  const { reconcile, condition, problems } = backstop(options, log);
  const changes = createSubject();
  reports.add('backstop', {
    changes,
    problems,
    conditions(policy) {
      const found = condition(policy);
      if (found === undefined || found === 'pending') return found ?? [];
      if (policy.kind !== 'TolerationRestriction') return reported('Backstop', found);
      return found.status === 'True' ? [] : reported('Ready', found);
    },
  });
  const reconciler = startControllerReconciler(run, 'backstop', reconcile, { onEnd: changes.next });
  policies.changes.subscribe(() => reconciler.restart(POLICIES_GATHER_MS), signal);
  rights.changes.subscribe(() => reconciler.restart(), signal);
  return reconciler;
}

interface CurrentPolicy {
  /** `generation` is that of the version in force. */
  readonly object: NamedPolicy;
  readonly policy: Policy;
}

interface Result {
  readonly states: BackstopStates;
  /** In how many milliseconds to run again. */
  readonly againInMs: number | undefined;
  readonly fault?: unknown;
}

/** @param translate is replaced in tests */
export function backstop(
  { client, policies: { objects }, rights, audit, namespace, ownerClusterRole }: Omit<BackstopOptions, 'reports'>,
  log: Logger,
  translate: (policy: NativelyExpressible, options: TranslationOptions) => NativeTranslation = translatePolicy,
): Backstop {
  const writer = nativeWriter(client, log);
  const checks = createBackOff({ minMs: FIRST_CHECK_MS, maxMs: CHECK_AGAIN_MS });
  let translated: { readonly of: unknown; readonly policies: readonly TranslatedPolicy[] } | undefined;
  let known: BackstopStates = NO_STATES;

  return {
    async reconcile() {
      const current = objects().flatMap(({ inForce, ...object }) =>
        inForce ? [{ object: { ...object, generation: inForce.generation }, policy: inForce.policy }] : [],
      );
      const required = current.flatMap(({ object, policy }) => (needsNativePolicies(policy) ? versionOf(object) : []));
      const { states, againInMs, fault } = await applyAll(current, required).catch(
        (error): Result => ({ states: statesAfterFault(known, required, error), againInMs: undefined, fault: error }),
      );
      known = states;
      if (fault === undefined) return againInMs;
      // A leader that may not list them has not written any. What an earlier one left stays reported.
      if (isForbidden(fault) && required.length === 0) return known.leftInForce.size > 0 ? CHECK_AGAIN_MS : undefined;
      throw fault;
    },
    condition: (object) => conditionIn(known, object),
    problems: () =>
      objects().flatMap((object) => {
        const { kind, name: policy } = object;
        const found = conditionIn(known, object);
        if (found === undefined || found === 'pending' || found.status === 'True') return [];
        const { reason, message } = found;
        const problem: ReportedProblem =
          kind === 'TolerationRestriction'
            ? { kind, policy, reason, message }
            : { kind, policy, reason: 'BackstopNotInForce', message: `backstop: ${message}` };
        return [problem];
      }),
  };

  /** @param required the versions of the policies that require native policies */
  async function applyAll(current: readonly CurrentPolicy[], required: readonly string[]): Promise<Result> {
    const versions = await servedVersions(client);
    if (versions.validating === undefined) {
      const states = { ...NO_STATES, required: sameState(required, { what: 'Unsupported' }) };
      return { states, againInMs: required.length === 0 ? undefined : CHECK_AGAIN_MS };
    }
    const found = (await listNative(client, versions, MANAGED_LABELS)).filter(isWrittenByLeader);
    if (required.length + found.length === 0) return { states: NO_STATES, againInMs: undefined };
    const isPermitted = rights.permits('nativePolicies');
    if (isPermitted === undefined) return { states: known, againInMs: undefined };
    if (!isPermitted) {
      const states = {
        required: sameState(required, { what: 'NotPermitted' }),
        leftInForce: leftInForce(objects(), found),
      };
      return { states, againInMs: CHECK_AGAIN_MS };
    }
    // Each time: a new installation creates another ClusterRole of that name.
    const installationOwner = await ownedByClusterRole(client, ownerClusterRole);
    const backed = translateAll(current, versions.mutating !== undefined);
    const unreadable = objects().filter(({ inForce }) => !inForce);
    const applied = await applyNatives(backed, found, { writer, versions, namespace, installationOwner, unreadable });
    const states = { ...NO_STATES, required: applied.states };
    if (applied.fault) return { states, againInMs: undefined, fault: applied.fault };
    return { states, againInMs: required.length + applied.waits.length === 0 ? undefined : nextCheckMs(applied) };
  }

  /** Translates only when a policy has changed: hundreds of policies take most of a second, in which no request is answered. */
  function translateAll(current: readonly CurrentPolicy[], mutates: boolean) {
    // The policies themselves, too: one generation may be read with more fields than before.
    const of = [mutates, current.map(({ object, policy }) => [versionOf(object), policy])];
    if (!translated || !isDeepStrictEqual(translated.of, of)) {
      const among = current.map(({ policy }) => asInForce(policy));
      const translations = current.flatMap(({ object, policy }) => {
        if (!needsNativePolicies(policy)) return [];
        const asked = audit ? inAudit(policy) : policy;
        return { object, translation: translate(asked, { among, mutates, purpose: 'Backstop' }) };
      });
      translated = { of, policies: translations };
    }
    return translated.policies;
  }

  function asInForce(policy: Policy): Policy {
    return audit && policy.kind !== 'RecoveryPolicy' ? inAudit(policy) : policy;
  }

  function nextCheckMs({ states, hasWritten, waits }: NativeRun): number {
    if (hasWritten) checks.reset();
    const isChecked = [...states.values()].every((state) => state.what !== 'InForce' || state.isChecked);
    return Math.min(CHECK_AGAIN_MS, ...waits, isChecked ? CHECK_AGAIN_MS : checks.next());
  }
}
