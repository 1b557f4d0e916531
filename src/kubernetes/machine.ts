/** What a Node says of the machine that it is; each '' where it does not. */
export interface Machine {
  /** `status.nodeInfo.systemUUID`: a kubelet sends it with the registration, where the machine has one. */
  readonly systemUUID: string;
  /** `spec.providerID`: a kubelet sends it where it was told; otherwise a cloud controller adds it later. */
  readonly providerID: string;
}

export const UNKNOWN_MACHINE: Machine = { systemUUID: '', providerID: '' };

/** Longer texts do not identify a machine: a kubelet can write any text into its own Node. */
export const MACHINE_ID_LENGTH = 512;

/**
 * Whether nothing says that these are two machines: what both know of is the same. Where they have nothing in common that is known,
 * they count as one.
 */
export function sameMachine(a: Machine, b: Machine): boolean {
  // Tools write the hexadecimal digits of one and the same machine in either case.
  return isSame(a.systemUUID.toLowerCase(), b.systemUUID.toLowerCase()) && isSame(a.providerID, b.providerID);
}

function isSame(a: string, b: string): boolean {
  return a === '' || b === '' || a === b;
}
