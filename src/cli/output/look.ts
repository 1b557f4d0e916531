/** How a table is shown. */
export interface Look {
  /** All names, and lines of any length. */
  readonly wide: boolean;
  readonly colors: boolean;
  /** The characters of a line. Undefined if it is not a terminal. */
  readonly width: number | undefined;
}

/** How tables are shown on the stream. */
export function lookOf(stream: { readonly isTTY?: boolean; readonly columns?: number }, wide: boolean): Look {
  // Some terminals report a width of 0.
  const width = stream.isTTY && !wide ? stream.columns || undefined : undefined;
  return { wide, colors: usesColors(stream), width };
}

/**
 * Whether to colour the output: on a terminal with colours, unless NO_COLOR, or FORCE_COLOR=0 or false, is set. FORCE_COLOR is for terminals that call
 * themselves dumb. Files and pipes never get colours, because programs read them as text.
 * https://no-color.org: set, and not empty
 */
export function usesColors(stream: { readonly isTTY?: boolean }): boolean {
  const { NO_COLOR, FORCE_COLOR, TERM } = process.env;
  if (!stream.isTTY || NO_COLOR || FORCE_COLOR === '0' || FORCE_COLOR === 'false') return false;
  return Boolean(FORCE_COLOR) || TERM !== 'dumb';
}
