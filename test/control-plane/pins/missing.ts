/** A version of a module that the registry does not give. */
export interface Missing {
  readonly module: string;
  readonly version: string;
  /** The registry's word, such as `403 Forbidden: This module version is not available.` */
  readonly word: string;
}

/** That it has nothing to be had from this registry. Other statuses (429, 5xx) say nothing about the version. */
const REFUSED =
  /(?<module>\S+)@(?<version>v\S+): reading \S+: (?<status>(?:400|403|404|410) [^\n]*)(?<rest>(?:\n[ \t]+[^\n]*)*)/g;

/** What Go says of a version that it has looked for at its origin, because the registry does not know it. */
const UNKNOWN = /(?<module>\S+)@(?<version>v\S+): (?<status>invalid version: [^\n]*)(?<rest>)/g;

const RESPONSE = /^\s+server response:\s*(.*)/;

/** Reads what is missing from an error of Go's, each version once. Empty where the error is about something else. */
export function parseMissing(error: string): Missing[] {
  const found = new Map<string, Missing>();
  for (const { groups } of [REFUSED, UNKNOWN].flatMap((pattern) => [...error.matchAll(pattern)])) {
    const { module = '', version = '', status = '', rest = '' } = groups ?? {};
    const response = RESPONSE.exec(rest)?.[1];
    const key = `${module}@${version}`;
    if (!found.has(key)) found.set(key, { module, version, word: response ? `${status}: ${response}` : status });
  }
  return [...found.values()];
}
