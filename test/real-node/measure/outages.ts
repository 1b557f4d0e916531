import type { Outage } from './outage.ts';
import { installationOutages } from './outages/installation.ts';
import { clusterOutages, controlPlaneOutages, nodeOutages } from './outages/nodes.ts';
import { replicaOutages } from './outages/replicas.ts';

/** All of them, in the order of the table. */
export const OUTAGES: readonly Outage[] = [
  ...replicaOutages,
  ...installationOutages,
  ...nodeOutages,
  ...controlPlaneOutages,
  ...clusterOutages,
];
