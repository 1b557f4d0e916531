/** What a command ends with. */
export const EXIT = {
  ok: 0,
  /** `review`: something is refused. */
  denied: 1,
  /** Whatever was looked at is not as it should be. */
  trouble: 1,
  badInput: 2,
  /** A fault of taintkeeper's own: EX_SOFTWARE of sysexits.h. */
  internalError: 70,
} as const;
