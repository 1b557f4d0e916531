import Type, { type TSchema } from 'typebox';

/** Absent or null, which Go's JSON takes for the same. */
export const Nullish = <Schema extends TSchema>(schema: Schema) => Type.Optional(Type.Union([schema, Type.Null()]));

/**
 * Labels, annotations or a selector of labels; null is Go's empty string. A large node has hundreds of them, and the check of a
 * Record, which tries a pattern on every key, takes a tenth of the time of a review: it is left to say what is wrong.
 */
export const StringMap = Type.Union([
  Type.Refine(Type.Unsafe<Record<string, string | null>>({}), isStringMap),
  Type.Record(Type.String({ pattern: '' }), Type.Union([Type.String(), Type.Null()])),
]);

function isStringMap(value: unknown): boolean {
  if (typeof value !== 'object' || value === null || Array.isArray(value)) return false;
  const map = value as Record<string, unknown>;
  for (const key in map) if (typeof map[key] !== 'string' && map[key] !== null) return false;
  return true;
}

/** The part of ObjectMeta (meta/v1) that is read here. */
export const ObjectMeta = Type.Object({
  name: Nullish(Type.String()),
  generateName: Nullish(Type.String()),
  labels: Nullish(StringMap),
  annotations: Nullish(StringMap),
  deletionTimestamp: Nullish(Type.String()),
});
