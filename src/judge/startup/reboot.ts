import { rfc3339 } from '../../kubernetes/time.ts';
import type { CompiledTaintPolicy } from '../../policy/policy-set.ts';
import { type Blocker, unmet } from './blocker.ts';

/**
 * The annotation on a Node that says for which boot its startup taints of `afterReboot: SetAgain` were set: `BOOTID`, or `BOOTID TIME` if the leader set
 * them after a reboot.
 */
export const STARTUP_BOOT_ANNOTATION = 'taintkeeper.dev/startup-boot';

/**
 * For how long after the leader's write nothing counts as ready, in milliseconds. After a reboot, the API server has the pods of the earlier boot as
 * Ready, and the devices of that boot as allocatable, until the kubelet has written both anew.
 */
export const SETTLING_MS = 30_000;

/** What `afterReboot` depends on. */
export interface NodeBoot {
  /** `status.nodeInfo.bootID`. Absent if it is empty, or unlike a boot ID. */
  readonly bootId?: string;
  /** The annotation {@link STARTUP_BOOT_ANNOTATION}, if it has a boot ID. */
  readonly startupBoot?: StartupBoot;
  /** The condition Ready is True. The kubelet writes it together with the boot ID. */
  readonly ready?: boolean;
}

/** What the annotation says. */
export interface StartupBoot {
  readonly bootId: string;
  /** When the leader set the taints after the reboot, in milliseconds since the epoch. Absent for taints of the registration. */
  readonly setAt?: number;
}

/** Whether the policy has a startup taint of `afterReboot: SetAgain`. */
export function setsTaintsAgain({ untilReady }: Pick<CompiledTaintPolicy, 'untilReady'>): boolean {
  return untilReady.some(({ value }) => value.setsAgain);
}

/** A UUID on Linux. The kubelet decides, so it may be any text. */
const BOOT_ID = /^[!-~]{1,128}$/;
const TIME = /^\d{4}-\d{2}-\d{2}T\d{2}:\d{2}:\d{2}Z$/;

/** The boot ID, if it is like one: not empty, without spaces, and of limited length. */
export function validBootId(text: unknown): string | undefined {
  return typeof text === 'string' && BOOT_ID.test(text) ? text : undefined;
}

/** Reads the annotation. Undefined for a text that does not begin with a boot ID; a time that cannot be read counts as none. */
export function parseStartupBoot(annotation: unknown): StartupBoot | undefined {
  if (typeof annotation !== 'string' || annotation.length > 200) return undefined;
  const [first, time, ...more] = annotation.split(' ');
  const bootId = validBootId(first);
  if (bootId === undefined) return undefined;
  const setAt = time !== undefined && more.length === 0 && TIME.test(time) ? Date.parse(time) : Number.NaN;
  return Number.isNaN(setAt) ? { bootId } : { bootId, setAt };
}

/** The text of the annotation. The time has whole seconds, rounded up, so that none of the {@link SETTLING_MS} is lost. */
export function formatStartupBoot({ bootId, setAt }: StartupBoot): string {
  return setAt === undefined ? bootId : `${bootId} ${rfc3339(Math.ceil(setAt / 1_000) * 1_000)}`;
}

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
export interface BootChange {
  /** `Adopt`: which boot it is, and no taint: whether the node has rebooted is not known. `SetAgain`: the boot, with its missing taints. */
  readonly kind: 'Adopt' | 'SetAgain';
  readonly startupBoot: StartupBoot;
}

/**
 * The change of the annotation of a Node that has startup taints of `afterReboot: SetAgain`; undefined for none.
 * @param apiTime the time of the API server, in milliseconds since the epoch
 */
export function bootChange(node: NodeBoot, apiTime: number): BootChange | undefined {
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
      const { setAt } = node.startupBoot ?? {};
      if (setAt === undefined) return [];
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

/** In how many milliseconds the time after the reboot is over; undefined if it is, or there was no reboot. */
export function settlesInMs(node: NodeBoot, apiTime: number): number | undefined {
  const { setAt } = node.startupBoot ?? {};
  if (bootStateOf(node) !== 'Recorded' || setAt === undefined) return undefined;
  const leftMs = setAt + SETTLING_MS - apiTime;
  return leftMs > 0 ? leftMs : undefined;
}

/**
 * Since when a taint of `afterReboot: SetAgain` may wait, in milliseconds since the epoch: the creation of the Node, or the reboot.
 * @param apiTime the time of the API server, in milliseconds since the epoch
 */
export function waitsSince(node: NodeBoot & { readonly createdAt: number }, apiTime: number): number {
  switch (bootStateOf(node)) {
    case 'Rebooted':
      return apiTime;
    case 'Recorded':
      return Math.max(node.createdAt, node.startupBoot?.setAt ?? node.createdAt);
    case 'NotRecorded':
    case 'NotReported':
      return node.createdAt;
  }
}
