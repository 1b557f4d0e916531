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

/**
 * Eight letters and digits in place of a text, '' for an empty one. Two texts that are not made to have the same mark have another one,
 * but for one pair in 10^12.
 */
export function mark(text: string): string {
  if (text === '') return '';
  let [a, b] = [0xdeadbeef, 0x41c6ce57];
  for (let index = 0; index < text.length; index++) {
    const code = text.charCodeAt(index);
    a = Math.imul(a ^ code, 2_654_435_761);
    b = Math.imul(b ^ code, 1_597_334_677);
  }
  const mixed = [mix(a) ^ mix(b ^ a), mix(b) ^ mix(a ^ 0x9e3779b9)];
  return mixed.map((half) => ((half >>> 0) & 0xfffff).toString(32).padStart(4, '0')).join('');
}

/** The last step of MurmurHash3: every bit comes to depend on all. */
function mix(half: number): number {
  const once = Math.imul(half ^ (half >>> 16), 0x85ebca6b);
  const twice = Math.imul(once ^ (once >>> 13), 0xc2b2ae35);
  return twice ^ (twice >>> 16);
}
