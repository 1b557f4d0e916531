import { mark } from './text.ts';

/** What a Node says of the machine that it is; each '' or absent where it does not. */
export interface Machine {
  /** `status.nodeInfo.systemUUID`: a kubelet sends it with the registration, where the machine has one. */
  readonly systemUUID?: string | null | undefined;
  /** `spec.providerID`: a kubelet sends it where it was told; otherwise a cloud controller adds it later. */
  readonly providerID?: string | null | undefined;
}

/** The {@link mark}s of both, '' for what is not known: enough to tell machines apart, and short however long a providerID is. */
export interface MachineMarks {
  readonly system: string;
  readonly provider: string;
}

export function machineMarks({ systemUUID, providerID }: Machine): MachineMarks {
  // Tools write the hexadecimal digits of one and the same machine in either case.
  return { system: mark((systemUUID ?? '').toLowerCase()), provider: mark(providerID ?? '') };
}

export const UNKNOWN_MACHINE: MachineMarks = { system: '', provider: '' };

/**
 * Whether nothing says that these are two machines: what both know of is the same. Where they have nothing in common that is known,
 * they count as one.
 */
export function sameMachine(a: MachineMarks, b: MachineMarks): boolean {
  return (['system', 'provider'] as const).every((part) => a[part] === '' || b[part] === '' || a[part] === b[part]);
}
