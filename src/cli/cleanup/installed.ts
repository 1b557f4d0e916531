import {
  isWrittenByLeader,
  listNative,
  type NativeObject,
  servedVersions,
} from '../../cluster/admission-registration/native-policies.ts';
import {
  ADMISSION_REGISTRATION,
  CONFIGURATION_NAME,
  CONFIGURATIONS,
} from '../../cluster/admission-registration/webhook-configurations.ts';
import type { ApiClient } from '../../cluster/client/api-client.ts';
import { isForbidden } from '../../cluster/client/api-error.ts';
import { findObject } from '../../cluster/client/find-object.ts';
import { InputError } from '../../files/input-error.ts';
import { atMost } from '../../text/counts.ts';
import { missingRightError } from '../command-rights.ts';
import { tell } from '../output/stderr.ts';

/** Native policies that a message names. */
const MAX_NAMED = 5;

/**
 * Refuses to clean up what taintkeeper would write again.
 * @param isTrial whether to print the reason only
 * @throws InputError, ApiError
 */
export async function refuseWhileInstalled(client: ApiClient, isTrial: boolean): Promise<void> {
  const registered = await registeredWebhooks(client);
  const bound = await boundNatives(client);
  const fault = registered ?? nativesAtWork(bound.filter(isWrittenByLeader));
  if (fault !== undefined) {
    if (!isTrial) throw new InputError([`${fault}. Uninstall it first, or pass --dry-run`]);
    tell(`note: ${fault}`);
    return;
  }
  const writing = bound.filter(({ kind }) => kind === 'MutatingAdmissionPolicyBinding');
  if (writing.length === 0) return;
  tell(`note: native policies are in force, and go on writing annotations to nodes: ${named(writing)}`);
}

/** The message about webhook configurations that exist. */
async function registeredWebhooks(client: ApiClient): Promise<string | undefined> {
  for (const { kind, resource } of Object.values(CONFIGURATIONS)) {
    if (!(await findObject(client, `${ADMISSION_REGISTRATION}/${resource}/${CONFIGURATION_NAME}`))) continue;
    return `${kind} ${CONFIGURATION_NAME} exists: taintkeeper is installed, and would write again what is removed`;
  }
  return undefined;
}

/** The ClusterRole owns the webhook configurations. A policy that only native policies enforce has no webhook. */
function nativesAtWork(written: readonly NativeObject[]): string | undefined {
  if (written.length === 0) return undefined;
  return `native policies of taintkeeper are in force: ${named(written)}: it is installed, or not wholly removed`;
}

function named(natives: readonly NativeObject[]): string {
  return atMost(MAX_NAMED, [...new Set(natives.map(({ metadata }) => metadata.name))]).join(', ');
}

/**
 * The bindings of native policies with our names.
 * @throws InputError if the user may not read them
 */
async function boundNatives(client: ApiClient): Promise<NativeObject[]> {
  try {
    const natives = await listNative(client, await servedVersions(client));
    return natives.filter(({ kind }) => kind.endsWith('Binding'));
  } catch (error) {
    if (!isForbidden(error)) throw error;
    throw missingRightError('cleanup', 'whether native policies of taintkeeper are in force', error);
  }
}
