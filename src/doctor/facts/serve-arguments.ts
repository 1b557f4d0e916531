/** The value of `--name=value` among the arguments of a container. If it is given twice, the last counts, as for `taintkeeper serve`. */
export function argument(args: readonly string[], name: string): string | undefined {
  const prefix = `--${name}=`;
  return args.findLast((arg) => arg.startsWith(prefix))?.slice(prefix.length);
}
