import Type, { type TSchema } from 'typebox';

/** Absent or null, which Go's JSON takes for the same. */
export const Nullish = <Schema extends TSchema>(schema: Schema) => Type.Optional(Type.Union([schema, Type.Null()]));

/** Labels, annotations or a selector of labels; null is Go's empty string. */
export const StringMap = Type.Record(Type.String(), Type.Union([Type.String(), Type.Null()]));

/** The part of ObjectMeta (meta/v1) that is read here. */
export const ObjectMeta = Type.Object({
  name: Nullish(Type.String()),
  generateName: Nullish(Type.String()),
  labels: Nullish(StringMap),
  annotations: Nullish(StringMap),
  deletionTimestamp: Nullish(Type.String()),
});
