import {
  isWrittenByLeader,
  listNative,
  type NativeObject,
  servedVersions,
} from '../cluster/admission-registration/native-policies.ts';
import {
  ADMISSION_REGISTRATION_V1_PATH,
  CONFIGURATION_NAME,
  CONFIGURATIONS,
} from '../cluster/admission-registration/webhook-configurations.ts';
import type { ApiClient } from '../cluster/client/api-client.ts';
import { isForbidden } from '../cluster/client/api-error.ts';
import { findObject } from '../cluster/client/find-object.ts';
import { atMost } from '../text/counts.ts';
import { UnreadableStateError } from './unreadable-state-error.ts';

/** What in the cluster may write again what a cleanup removes. */
export interface RemainingWriters {
  /** Why taintkeeper counts as installed. Undefined if it does not. */
  readonly installation: string | undefined;
  /** Native policies without an installation that write annotations to nodes. Undefined if there are none. */
  readonly annotatingNatives: string | undefined;
}

/** @throws UnreadableStateError if the user may not read native policies, ApiError */
export async function findRemainingWriters(client: ApiClient): Promise<RemainingWriters> {
  const webhooks = await registeredWebhooks(client);
  const bindings = await nativeBindings(client);
  const annotating = bindings.filter(({ kind }) => kind === 'MutatingAdmissionPolicyBinding');
  return {
    installation: webhooks ?? leaderNatives(bindings.filter(isWrittenByLeader)),
    annotatingNatives:
      annotating.length === 0
        ? undefined
        : `native policies are in force, and go on writing annotations to nodes: ${named(annotating)}`,
  };
}

/** The message about webhook configurations that exist. */
async function registeredWebhooks(client: ApiClient): Promise<string | undefined> {
  for (const { kind, resource } of Object.values(CONFIGURATIONS)) {
    if (!(await findObject(client, `${ADMISSION_REGISTRATION_V1_PATH}/${resource}/${CONFIGURATION_NAME}`))) continue;
    return `${kind} ${CONFIGURATION_NAME} exists: taintkeeper is installed, and would write again what is removed`;
  }
  return undefined;
}

/** The message about native policies of the leader. A policy that only native policies enforce has no webhook. */
function leaderNatives(written: readonly NativeObject[]): string | undefined {
  if (written.length === 0) return undefined;
  return `native policies of taintkeeper are in force: ${named(written)}: it is installed, or not wholly removed`;
}

/** Native policies that a message names. */
const MAX_NAMED = 5;

function named(natives: readonly NativeObject[]): string {
  return atMost(MAX_NAMED, [...new Set(natives.map(({ metadata }) => metadata.name))]).join(', ');
}

/**
 * The bindings of native policies with our names.
 * @throws UnreadableStateError if the user may not read them
 */
async function nativeBindings(client: ApiClient): Promise<NativeObject[]> {
  try {
    const natives = await listNative(client, await servedVersions(client));
    return natives.filter(({ kind }) => kind.endsWith('Binding'));
  } catch (error) {
    if (!isForbidden(error)) throw error;
    throw new UnreadableStateError('whether native policies of taintkeeper are in force', error);
  }
}
