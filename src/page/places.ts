import type { Place } from './state.ts';

/** Where the node is shown. */
export const nodeAt = (object: string): Place => ({ tab: 'nodes', object });
/** Where the DaemonSet is shown. @param object `NAMESPACE/NAME` */
export const daemonSetAt = (object: string): Place => ({ tab: 'coverage', object });
