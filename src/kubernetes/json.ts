/** A JSON object, or a mapping of YAML. */
export type Mapping = Readonly<Record<string, unknown>>;

export function isMapping(value: unknown): value is Mapping {
  return typeof value === 'object' && value !== null && !Array.isArray(value);
}

/** The value at the path, through mappings and lists. Undefined if there is none. */
export function valueAt(value: unknown, path: readonly (string | number)[]): unknown {
  let below = value;
  for (const part of path) {
    if (typeof below !== 'object' || below === null || !Object.hasOwn(below, part)) return undefined;
    below = (below as Record<string | number, unknown>)[part];
  }
  return below;
}
