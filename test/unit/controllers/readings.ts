import type { Reading } from '../../../src/controllers/cluster-watches.ts';

/** A kind of which everything is known. */
export const ALL_READ: Reading = {
  synced: Promise.resolve(),
  isSynced: () => true,
  isRefused: () => false,
  tried: Promise.resolve(),
};
/** A kind that cannot be listed. */
export const UNREADABLE: Reading = {
  synced: new Promise(() => {}),
  isSynced: () => false,
  isRefused: () => true,
  tried: Promise.resolve(),
};
