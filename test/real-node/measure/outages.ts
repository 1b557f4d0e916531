import type { Outage } from './outage.ts';
import { controlPlaneOutages, nodeOutages } from './outages/nodes.ts';
import { replicaOutages } from './outages/replicas.ts';

/** All of them, in the order of the table. */
export const OUTAGES: readonly Outage[] = [...replicaOutages, ...nodeOutages, ...controlPlaneOutages];
