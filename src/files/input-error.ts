/**
 * Unusable input: one line for each problem, with the place (`file:line:column`) and what is expected there.
 */
export class InputError extends Error {
  override name = 'InputError';
  readonly faults: readonly string[];

  constructor(faults: readonly string[]) {
    super(faults.join('\n'));
    this.faults = faults;
  }
}
