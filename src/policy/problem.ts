/** A place in a document: property names and list indexes, from the top. */
export type Path = readonly (string | number)[];

/** A problem of a policy: where it is, and what to do. */
export interface Problem {
  readonly path: Path;
  readonly message: string;
}

/** `spec.taints[0].key`. Keys that are no plain identifiers are in brackets and quotes. */
export function formatPath(path: Path): string {
  return path
    .map((part, index) => {
      if (typeof part === 'string' && /^[A-Za-z_][\w]*$/.test(part)) return index === 0 ? part : `.${part}`;
      return `[${JSON.stringify(part)}]`;
    })
    .join('');
}

/** `spec.taints[0].key: …`, for a reader who knows which policy is meant. */
export function formatProblem({ path, message }: Problem): string {
  return path.length === 0 ? message : `${formatPath(path)}: ${message}`;
}

const SHOWN_CHARACTERS = 60;

/** A value in an error message: short, and on one line. */
export function shownValue(value: unknown): string {
  if (value === undefined) return 'nothing';
  if (Array.isArray(value)) return 'a list';
  if (typeof value === 'object' && value !== null) return 'a map';
  const text = JSON.stringify(value);
  return text.length > SHOWN_CHARACTERS ? `${text.slice(0, SHOWN_CHARACTERS)}…` : text;
}
