import type { SyncState } from '../../../src/controllers/cluster-watches.ts';
import { createSubject } from '../../../src/runtime/source.ts';

/** A kind of which everything is known. */
export const ALL_READ: SyncState = {
  synced: Promise.resolve(),
  isSynced: () => true,
  isRefused: () => false,
  listFault: () => undefined,
  refusals: createSubject(),
  tried: Promise.resolve(),
};
