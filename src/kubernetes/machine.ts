/** What a Node says about its machine. Each is '' if absent. */
export interface Machine {
  /** `status.nodeInfo.systemUUID`: a kubelet sends it with the registration if the machine has one. */
  readonly systemUUID: string;
  /** `spec.providerID`: a kubelet sends it if it is configured; otherwise a cloud controller adds it later. */
  readonly providerID: string;
}

export const UNKNOWN_MACHINE: Machine = { systemUUID: '', providerID: '' };

/** Longer texts do not identify a machine: a kubelet can write any text into its own Node. */
export const MACHINE_ID_LENGTH = 512;

/**
 * Whether these can be one machine: all values that both have are equal. If they have no value in common, they count as one.
 */
export function sameMachine(a: Machine, b: Machine): boolean {
  // Tools write the hexadecimal digits of one machine in either case.
  return isSame(a.systemUUID.toLowerCase(), b.systemUUID.toLowerCase()) && isSame(a.providerID, b.providerID);
}

function isSame(a: string, b: string): boolean {
  return a === '' || b === '' || a === b;
}
