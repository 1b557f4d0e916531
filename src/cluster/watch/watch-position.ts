import { compareResourceVersions } from './resource-version.ts';

/** A failed list that is not needed yet is repeated after this long. */
export const RELIST_RETRY_MS = 60_000;
/** From here on the cause is not the connection: the events of the watch are invalid. */
const MAX_FRUITLESS_WATCHES = 2;

/** From where the next watch of a path continues, and whether something else is requested before it. Times are by performance.now(). */
export interface WatchPosition {
  /** The resourceVersion from which the next watch continues. Undefined if a list is due. */
  readonly version: string | undefined;
  /** When a list is due even if the watch can continue. */
  readonly relistAt: number;
  /** Whether something failed since the state of the API server was last checked: see {@link afterCheck}. */
  readonly isInDoubt: boolean;
  /** How many watches in a row were accepted and then failed without an event. */
  readonly fruitless: number;
}

export const FIRST_POSITION: WatchPosition = { version: undefined, relistAt: 0, isInDoubt: false, fruitless: 0 };

export function isListDue({ version, relistAt }: WatchPosition, now: number): boolean {
  return version === undefined || now >= relistAt;
}

/** A list of that version is complete. */
export function afterList(version: string | undefined, relistAt: number): WatchPosition {
  return { version, relistAt, isInDoubt: false, fruitless: 0 };
}

/** The watch sent an event of that version. */
export function afterEvent(position: WatchPosition, version: string): WatchPosition {
  return { ...position, version };
}

/** The events from here on are not available, or do not say all. */
export function afterExpiry(position: WatchPosition): WatchPosition {
  return { ...position, version: undefined };
}

/**
 * The API server was asked for its newest version. After etcd was set back to an earlier state (a restored backup), a watch from a later version waits
 * silently until the store reaches it. etcd is set back only while the API server is down, so this is checked only after failures.
 * @param newest undefined if the API server does not say
 */
export function afterCheck(position: WatchPosition, newest: string | undefined): WatchPosition {
  const { version } = position;
  const isSetBack =
    newest !== undefined && version !== undefined && (compareResourceVersions(newest, version) ?? 0) < 0;
  return isSetBack ? afterExpiry(position) : { ...position, isInDoubt: false };
}

/** The API server ended a watch that was useful: it lasted, or sent an event. */
export function afterEnd(position: WatchPosition): WatchPosition {
  return { ...position, fruitless: 0 };
}

/**
 * The API server had accepted a watch, which then failed.
 * @param from the version from which the watch began
 */
export function afterBreak(position: WatchPosition, from: string | undefined): WatchPosition {
  return position.version === from ? { ...position, fruitless: position.fruitless + 1 } : position;
}

/**
 * A request failed. A list that was due, but not needed because events are still available, is due again after `retryMs`.
 * @param isHistoryLost whether the events from here on are not available: they have expired, or the path is not served
 */
export function afterFailure(
  position: WatchPosition,
  isHistoryLost: boolean,
  { now, retryMs }: { readonly now: number; readonly retryMs: number },
): WatchPosition {
  const { version, relistAt, fruitless } = position;
  return {
    version: isHistoryLost || fruitless >= MAX_FRUITLESS_WATCHES ? undefined : version,
    relistAt: Math.max(relistAt, now + retryMs),
    isInDoubt: true,
    fruitless,
  };
}
