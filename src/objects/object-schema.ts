import type { Static, TSchema } from 'typebox';
import * as Type from 'typebox';
import { Compile } from 'typebox/compile';
import { lazy } from '../collections/lazy.ts';
import { DNS_SUBDOMAIN_LENGTH, QUALIFIED_NAME_LENGTH } from '../kubernetes/names.ts';
import { formatProblem, type Path } from '../policy/problem.ts';
import { schemaProblems } from '../policy/schema-problems.ts';
import { shorten } from '../text/printable.ts';

/** The object of a request does not match its resource. */
export class MalformedObjectError extends Error {
  override name = 'MalformedObjectError';
  /** The field, from the top of the review: `request`, `object`, … */
  readonly path: Path;
  /** The expected and the actual value. */
  readonly problem: string;

  constructor(path: Path, problem: string) {
    super(formatProblem({ path: path.map(shownPart), message: problem }));
    this.path = path;
    this.problem = problem;
  }
}

/** The name of a label or an annotation may have any length. */
function shownPart(part: string | number): string | number {
  return typeof part === 'string' ? shorten(part, QUALIFIED_NAME_LENGTH) : part;
}

/**
 * Reads parsed JSON as what the schema describes. `path` is its place in the review. The check is compiled on demand, which takes milliseconds.
 *
 * Files are checked this way, and so are requests: mutation runs before the API server validates an object. An error then names the field. What is only
 * read from the API server, such as CSINodes, NodePools and most fields of Pods, is cast to a type: the API server has validated it, and a check of
 * thousands of objects takes time.
 * @throws MalformedObjectError
 */
export function reader<Schema extends TSchema>(schema: Schema): (value: unknown, path: Path) => Static<Schema> {
  const validator = lazy(() => Compile(schema));
  return (value, path) => {
    if (!validator().Check(value)) throw malformed(schema, value, path);
    return value;
  };
}

/** The error for a value at `path` that does not match its schema, with the first problem. */
function malformed(schema: TSchema, value: unknown, path: Path): MalformedObjectError {
  const [problem] = schemaProblems(schema, value);
  return new MalformedObjectError([...path, ...(problem?.path ?? [])], problem?.message ?? 'not valid');
}

/**
 * A string with a maximum length, if the API server has one: a forged value of any length must not be judged, logged or reported hundreds of times.
 */
export const Bounded = (maxLength: number, minLength = 0) => Type.String({ minLength, maxLength });

/** Absent or null, which Go's JSON treats alike. */
export const Nullish = <Schema extends TSchema>(schema: Schema) => Type.Optional(Type.Union([schema, Type.Null()]));

/**
 * Labels, annotations or a selector of labels; null is Go's empty string. A large node has hundreds of them. The check of a Record, which tries a
 * pattern on every key, takes a tenth of the time of a review, so it only runs to report a problem.
 */
export const StringMapSchema = Type.Union([
  Type.Refine(Type.Unsafe<Record<string, string | null>>({}), isStringMap),
  Type.Record(Type.String({ pattern: '' }), Type.Union([Type.String(), Type.Null()])),
]);

function isStringMap(value: unknown): boolean {
  if (typeof value !== 'object' || value === null || Array.isArray(value)) return false;
  const map = value as Record<string, unknown>;
  for (const key in map) if (typeof map[key] !== 'string' && map[key] !== null) return false;
  return true;
}

/** The fields of ObjectMeta (meta/v1) that are read from objects in requests. The API server has not validated these yet: {@link Bounded}. */
export const RequestMetaSchema = Type.Object({
  name: Nullish(Bounded(DNS_SUBDOMAIN_LENGTH)),
  // The API server limits it when an object is created, and not afterwards: anybody who writes the status can make it as long as an object.
  generateName: Nullish(Type.String()),
  uid: Nullish(Type.String()),
  labels: Nullish(StringMapSchema),
  annotations: Nullish(StringMapSchema),
  deletionTimestamp: Nullish(Type.String()),
});
