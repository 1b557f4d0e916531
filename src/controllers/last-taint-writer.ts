import type { ApiClient } from '../cluster/client/api-client.ts';
import { findObject } from '../cluster/client/find-object.ts';
import { describeOwner, fieldOwner, managedFieldsOf } from '../objects/managed-fields.ts';

/**
 * The last writer of the taints of the node, except taintkeeper, in words. Undefined if the node or the field does not exist: a field that was removed
 * has no owner.
 * @throws ApiError
 */
export async function lastTaintWriter(client: Pick<ApiClient, 'request'>, name: string): Promise<string | undefined> {
  const node = await findObject(client, `/api/v1/nodes/${name}`);
  const owner = node === undefined ? undefined : fieldOwner(managedFieldsOf(node), ['spec', 'taints']);
  if (!owner) return undefined;
  // Without the time, Events are equal and counted as one.
  const { time: _, ...who } = owner;
  return describeOwner(who);
}
