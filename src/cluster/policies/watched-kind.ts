import type { Logger } from 'pino';
import type { PolicyKind } from '../../policy/policy.ts';
import { messageOf } from '../../runtime/error-message.ts';
import { pause } from '../../runtime/pause.ts';
import type { ApiClient } from '../client/api-client.ts';
import type { Change } from '../watch/cached-objects.ts';
import { type WatchCache, watchResource } from '../watch/watch-cache.ts';
import { definitionOf, readKindsWithoutDefinition } from './policy-definitions.ts';
import { type PolicyInForce, type PolicyObject, storedVersionOf, versionOf, viewPolicy } from './policy-object.ts';
import { policiesPath } from './policy-paths.ts';

/** While a kind is not served, and discovery does not say why. */
const CHECK_DEFINITION_MS = 1_000;

/** The policies of one kind, watched. */
export interface WatchedKind {
  readonly kind: PolicyKind;
  readonly cache: WatchCache<PolicyObject>;
  /** Resolves once the kind is read, or certainly has no definition. */
  readonly known: Promise<unknown>;
  isConnected(): boolean;
  /** Whether it has no CustomResourceDefinition, and so no policies. */
  hasNoDefinition(): boolean;
  /** Why it could not be read last. */
  problem(): string;
  stop(): Promise<void>;
}

export interface WatchedKindOptions {
  readonly client: ApiClient;
  /** @param isKindListed whether the first list of the kind is complete */
  readonly onChange: (change: Change<PolicyObject>, isKindListed: boolean) => void;
  /** The first list of the kind is complete. */
  readonly onSynced: () => void;
  readonly onState: (kind: PolicyKind, connected: boolean) => void;
  readonly log: Logger;
}

/** Watches one kind of policies. A kind without a definition is known to have none, and is watched all the same: it may be installed later. */
export function watchKind(kind: PolicyKind, options: WatchedKindOptions): WatchedKind {
  const { client, onChange, onSynced, onState, log } = options;
  /** Of existing objects, by uid: one that is deleted and created again is another one. */
  const inForce = new Map<string, PolicyInForce>();
  const stopping = new AbortController();
  const withoutDefinition = Promise.withResolvers<void>();
  let isConnected = false;
  let problem = 'not read yet';
  let hasNoDefinition = false;
  let isChecking = false;

  const cache = watchResource({
    client,
    path: policiesPath(kind),
    project(object) {
      const policy = viewPolicy(kind, object, inForce.get((object as { metadata: { uid: string } }).metadata.uid));
      if (policy.inForce) inForce.set(policy.uid, policy.inForce);
      return policy;
    },
    hasNewSpec: (object, known) => known === undefined || versionOf(known.value) !== storedVersionOf(object),
    onChange(change) {
      if (change.type === 'deleted') inForce.delete(change.entry.value.uid);
      onChange(change, cache.isSynced());
    },
    onState(state) {
      isConnected = state.connected;
      if (!state.connected) {
        problem = state.error;
        if (state.isNotServed) void checkDefinition();
      }
      onState(kind, state.connected);
    },
    log,
  });

  cache.synced.then(
    () => {
      if (hasNoDefinition) {
        hasNoDefinition = false;
        log.info(`CustomResourceDefinition ${definitionOf(kind)} exists now`);
      }
      onSynced();
    },
    () => {},
  );

  /** Until the kind is read, or certainly has no definition. */
  async function checkDefinition(): Promise<void> {
    if (isChecking || cache.isSynced()) return;
    isChecking = true;
    const { signal } = stopping;
    while (!signal.aborted && !cache.isSynced() && !hasNoDefinition) {
      try {
        hasNoDefinition = (await readKindsWithoutDefinition(client)).includes(kind) && !cache.isSynced();
      } catch (error) {
        log.debug(`cannot find out whether ${definitionOf(kind)} exists: ${messageOf(error)}`);
      }
      if (!hasNoDefinition) await pause(CHECK_DEFINITION_MS, signal);
    }
    isChecking = false;
    if (!hasNoDefinition) return;
    log.warn(`CustomResourceDefinition ${definitionOf(kind)} does not exist: no ${kind} is in force`);
    withoutDefinition.resolve();
  }

  return {
    kind,
    cache,
    known: Promise.race([cache.synced, withoutDefinition.promise]),
    isConnected: () => isConnected,
    hasNoDefinition: () => hasNoDefinition,
    problem: () => problem,
    stop() {
      stopping.abort();
      return cache.stop();
    },
  };
}
