/*
 * Who has which address in the lab. Nothing outside of its network namespaces knows any of them. Nodes are numbered from 1; the first one
 * has the control plane.
 */

export const API_PORT = 7443;
export const KUBELET_PORT = 10_250;
export const SERVICE_RANGE = '10.45.0.0/24';
/** Of the Service `kubernetes`. */
export const API_SERVICE = '10.45.0.1';
export const POD_RANGE = '10.44.0.0/16';
export const BRIDGE_ADDRESS = '10.99.0.254/24';
/** Where the API server is, for all nodes. */
export const API_ADDRESS = nodeAddress(1);

export function nodeName(number: number): string {
  return `n${number}`;
}

export function nodeAddress(number: number): string {
  return `10.99.0.${number}`;
}

/** The pods of one node. */
export function podRange(number: number): string {
  return `10.44.${number}.0/24`;
}
