import { rfc3339 } from '../kubernetes/time.ts';
import type { CompiledTaintPolicy } from '../policy/compiled-taint-policy.ts';

/**
 * The annotation of a Node with the boot for which its startup taints of `afterReboot: SetAgain` were set: `BOOTID`, or `BOOTID TIME` if the leader set
 * them after a reboot.
 */
export const STARTUP_BOOT_ANNOTATION = 'taintkeeper.dev/startup-boot';

/** What `afterReboot` depends on. */
export interface NodeBoot {
  /** `status.nodeInfo.bootID`. Absent if it does not look like a boot ID. */
  readonly bootId?: string;
  /** The annotation {@link STARTUP_BOOT_ANNOTATION}, if it has a boot ID. */
  readonly startupBoot?: StartupBoot;
  /** The condition Ready is True. The kubelet writes it together with the boot ID. */
  readonly ready?: boolean;
}

/** The content of the annotation. */
export interface StartupBoot {
  readonly bootId: string;
  /** When the leader set the taints after the reboot, in milliseconds since the epoch. Absent if the node got them at its registration. */
  readonly setAt?: number;
}

/** Whether the policy has a startup taint of `afterReboot: SetAgain`. */
export function setsTaintsAgain({ untilReady }: Pick<CompiledTaintPolicy, 'untilReady'>): boolean {
  return untilReady.some(({ setsAgain }) => setsAgain);
}

/** A UUID on Linux. The kubelet decides, so it may be any text. */
const BOOT_ID = /^[!-~]{1,128}$/;
const TIME = /^\d{4}-\d{2}-\d{2}T\d{2}:\d{2}:\d{2}Z$/;

/** The boot ID, if the text looks like one: not empty, without spaces, and of limited length. */
export function validBootId(text: unknown): string | undefined {
  return typeof text === 'string' && BOOT_ID.test(text) ? text : undefined;
}

/** Reads the annotation. Undefined for a text that does not begin with a boot ID. A time that cannot be read is ignored. */
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
