/**
 * Whether to colour what goes to the stream: on a terminal that can, unless NO_COLOR or FORCE_COLOR=0 says no. FORCE_COLOR
 * is for terminals that call themselves dumb; a file or a pipe never gets colours, because what reads those reads text.
 * https://no-color.org: set, and not empty
 */
export function usesColors(stream: { readonly isTTY?: boolean }): boolean {
  const { NO_COLOR, FORCE_COLOR, TERM } = process.env;
  if (!stream.isTTY || NO_COLOR || FORCE_COLOR === '0' || FORCE_COLOR === 'false') return false;
  return Boolean(FORCE_COLOR) || TERM !== 'dumb';
}
