/** Sets the value at the path, and makes the objects above it. */
export function setAt(values: Record<string, unknown>, [key = '', ...rest]: readonly string[], value: unknown): void {
  if (rest.length === 0) values[key] = value;
  else {
    values[key] ??= {};
    setAt(values[key] as Record<string, unknown>, rest, value);
  }
}
