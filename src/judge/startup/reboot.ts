import type { NodeBoot, StartupBoot } from '../node-boot.ts';
import type { StoredNode } from '../node-view.ts';
import { type Blocker, unmet } from './blocker.ts';

/**
 * For how long after the leader's write nothing counts as ready, in milliseconds. After a reboot, the API server has the pods of the earlier boot as
 * Ready, and the devices of that boot as allocatable, until the kubelet has written both anew.
 */
export const SETTLING_MS = 30_000;

/**
 * By how much the time of a reboot may lie in the future, in milliseconds: the clocks of several API servers differ. A later one
 * is from a user, or from a leader while the clock of its API server was wrong. It counts as none: the taint would stay until then, and no leader would
 * report it.
 */
const MOST_AHEAD_MS = 600_000;

/** What a Node says of its boot. */
export type BootState =
  /** The kubelet has reported no boot ID. */
  | 'NotReported'
  /** The Node has no annotation, or one that cannot be read. */
  | 'NotRecorded'
  /** The annotation has the present boot. */
  | 'Recorded'
  /** The annotation has another boot. */
  | 'Rebooted';

export function bootStateOf({ bootId, startupBoot }: NodeBoot): BootState {
  if (bootId === undefined) return 'NotReported';
  if (startupBoot === undefined) return 'NotRecorded';
  return startupBoot.bootId === bootId ? 'Recorded' : 'Rebooted';
}

/** What the leader has to write of the boot of a Node. */
export type BootChange =
  | RecordedBoot
  /** No policy uses the annotation any more. */
  | { readonly kind: 'Delete'; readonly startupBoot: null };

export interface RecordedBoot {
  /** `Adopt`: which boot it is, and no taint: whether the node has rebooted is not known. `SetAgain`: the boot, with its missing taints. */
  readonly kind: 'Adopt' | 'SetAgain';
  readonly startupBoot: StartupBoot;
}

/**
 * The change of the annotation of a Node that has startup taints of `afterReboot: SetAgain`; undefined for none.
 * @param apiTime the time of the API server, in milliseconds since the epoch
 */
export function bootChange(node: NodeBoot, apiTime: number): RecordedBoot | undefined {
  const { bootId } = node;
  if (bootId === undefined) return undefined;
  switch (bootStateOf(node)) {
    case 'NotRecorded':
      return { kind: 'Adopt', startupBoot: { bootId } };
    case 'Rebooted':
      return { kind: 'SetAgain', startupBoot: { bootId, setAt: apiTime } };
    default:
      return undefined;
  }
}

/**
 * Why a taint of `afterReboot: SetAgain` stays on a Node that carries it, besides `readyWhen`. What `readyWhen` reads may still be of the earlier boot.
 * @param apiTime the time of the API server, in milliseconds since the epoch
 */
export function rebootBlockers(node: NodeBoot, apiTime: number): Blocker[] {
  switch (bootStateOf(node)) {
    case 'Rebooted':
      return [unmet('the leader: it has not recorded the reboot of the node yet')];
    case 'Recorded': {
      if (recordedReboot(node, apiTime) === undefined) return [];
      if (node.ready !== true) return [unmet('the node: it has not been Ready since its reboot')];
      if (settlesInMs(node, apiTime) === undefined) return [];
      return [
        unmet(`the kubelet: ${SETTLING_MS / 1_000} seconds after the reboot for replacing what it reported before`),
      ];
    }
    case 'NotRecorded':
    case 'NotReported':
      return [];
  }
}

/**
 * When the leader recorded that the node has rebooted into the present boot, in milliseconds since the epoch. Undefined if it has not, or if that time
 * lies too far ahead.
 * @param apiTime the time of the API server, in milliseconds since the epoch
 */
export function recordedReboot(node: NodeBoot, apiTime: number): number | undefined {
  const setAt = bootStateOf(node) === 'Recorded' ? node.startupBoot?.setAt : undefined;
  return setAt !== undefined && !isTooFarAhead(setAt, apiTime) ? setAt : undefined;
}

function isTooFarAhead(setAt: number, apiTime: number): boolean {
  return setAt - apiTime > MOST_AHEAD_MS;
}

/**
 * The Node with the time at which this leader recorded its reboot, where the annotation has one that would not count: the clock of the API server was far
 * ahead then, and is right now.
 * @param recordedMsAgo by the monotonic clock. Undefined if this leader has recorded no reboot of the Node
 * @param apiTime the time of the API server, in milliseconds since the epoch
 */
export function withOwnReboot<Node extends NodeBoot>(
  node: Node,
  recordedMsAgo: number | undefined,
  apiTime: number,
): Node {
  const { startupBoot } = node;
  if (recordedMsAgo === undefined || startupBoot?.setAt === undefined) return node;
  if (!isTooFarAhead(startupBoot.setAt, apiTime)) return node;
  return { ...node, startupBoot: { ...startupBoot, setAt: apiTime - recordedMsAgo } };
}

/** In how many milliseconds the time after the reboot is over; undefined if it is, or there was no reboot. */
export function settlesInMs(node: NodeBoot, apiTime: number): number | undefined {
  const setAt = recordedReboot(node, apiTime);
  if (setAt === undefined) return undefined;
  const leftMs = setAt + SETTLING_MS - apiTime;
  return leftMs > 0 ? leftMs : undefined;
}

/**
 * Since when a taint of `afterReboot: SetAgain` may wait, in milliseconds since the epoch: the creation of the Node, or the reboot.
 * @param apiTime the time of the API server, in milliseconds since the epoch
 */
export function waitsSince(node: NodeBoot & Pick<StoredNode, 'createdAt'>, apiTime: number): number {
  const { createdAt = 0 } = node;
  if (bootStateOf(node) === 'Rebooted') return apiTime;
  return Math.max(createdAt, recordedReboot(node, apiTime) ?? createdAt);
}
