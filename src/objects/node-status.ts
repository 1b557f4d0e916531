import { withinBudget } from '../collections/within-budget.ts';
import type { NodeStatus } from '../judge/node-view.ts';
import { QUALIFIED_NAME_LENGTH } from '../kubernetes/names.ts';
import { isReadyResource } from '../policy/ready-when.ts';
import type { NodeObject } from './node-object.ts';

/**
 * The memory for each that is kept, roughly: a kubelet can write thousands. That is enough for 100 conditions of node problem detectors, and for 150
 * resources.
 */
const MAX_CONDITIONS_BYTES = 12_288;
const MAX_RESOURCES_BYTES = 10_240;
/** In V8, apart from the characters. */
const CONDITION_BYTES = 96;
const RESOURCE_BYTES = 24;

/** What startup taints may wait for in the status of the Node. A value of another type than the API server's counts as absent. */
export function viewNodeStatus(node: NodeObject): NodeStatus {
  const { status } = node as {
    readonly status?: {
      readonly conditions?: readonly { readonly type?: unknown; readonly status?: unknown }[] | null;
      readonly allocatable?: Readonly<Record<string, unknown>> | null;
    } | null;
  };
  const conditions = (status?.conditions ?? []).flatMap(({ type, status: is }) =>
    typeof type === 'string' &&
    type.length <= QUALIFIED_NAME_LENGTH &&
    typeof is === 'string' &&
    is.length <= MAX_STATUS
      ? [[type, is] as const]
      : [],
  );
  const resources = Object.entries(status?.allocatable ?? {}).flatMap(([name, quantity]) =>
    name.length <= QUALIFIED_NAME_LENGTH && isReadyResource(name) && isAboveZero(quantity) ? name : [],
  );
  return {
    ...(conditions.length > 0
      ? {
          conditions: Object.fromEntries(
            withinBudget(conditions, MAX_CONDITIONS_BYTES, ([type]) => CONDITION_BYTES + type.length),
          ),
        }
      : {}),
    ...(resources.length > 0
      ? { resources: withinBudget(resources.sort(), MAX_RESOURCES_BYTES, ({ length }) => RESOURCE_BYTES + length) }
      : {}),
  };
}

/** `Unknown` is the longest status. */
const MAX_STATUS = 7;

/** Whether a quantity of Kubernetes, such as `8`, `0` or `100m`, is above zero. No suffix makes one of it. */
function isAboveZero(quantity: unknown): boolean {
  return Number.parseFloat(String(quantity)) > 0;
}
