import Type, { type TSchema } from 'typebox';
import { describe, expect, it } from 'vitest';
import { structuralSchema } from '../../../scripts/structural-schema.ts';

describe('structuralSchema', () => {
  it.each<[what: string, schema: TSchema, structural: object]>([
    ['a text', Type.String({ pattern: '^a', maxLength: 3 }), { type: 'string', pattern: '^a', maxLength: 3 }],
    ['a number with a format', Type.Integer({ format: 'int32' }), { type: 'integer', format: 'int32' }],
    ['an enum: it gets a type', Type.Enum(['A', 'B']), { type: 'string', enum: ['A', 'B'] }],
    ['a constant', Type.Literal('A'), { type: 'string', enum: ['A'] }],
    ['a list', Type.Array(Type.Enum(['A'])), { type: 'array', items: { type: 'string', enum: ['A'] } }],
    [
      'a map',
      Type.Record(Type.String(), Type.String({ maxLength: 3 }), { maxProperties: 5 }),
      { type: 'object', additionalProperties: { type: 'string', maxLength: 3 }, maxProperties: 5 },
    ],
    [
      'an object: that it has no other fields is what a CRD says anyway',
      Type.Object({ a: Type.String(), b: Type.Optional(Type.Boolean()) }, { additionalProperties: false }),
      { type: 'object', required: ['a'], properties: { a: { type: 'string' }, b: { type: 'boolean' } } },
    ],
    [
      "Kubernetes' own keywords",
      Type.String({ 'x-kubernetes-validations': [{ rule: 'true', message: 'm' }] }),
      { type: 'string', 'x-kubernetes-validations': [{ rule: 'true', message: 'm' }] },
    ],
    [
      'a default, which the API server sets',
      Type.Object({ a: Type.Optional(Type.String({ default: 'x' })) }),
      { type: 'object', properties: { a: { type: 'string', default: 'x' } } },
    ],
    [
      'a default within a list, which the description tells',
      Type.Array(Type.Object({ a: Type.Optional(Type.String({ description: 'An a.', default: 'x' })) })),
      {
        type: 'array',
        items: { type: 'object', properties: { a: { description: 'An a. Default: x.', type: 'string' } } },
      },
    ],
  ])('converts %s', (_what, schema, structural) => {
    expect(structuralSchema(schema)).toEqual(structural);
  });

  it.each<[what: string, schema: TSchema, message: string]>([
    [
      'keyword that it does not know',
      Type.String({ contentEncoding: 'base64' }),
      'no structural schema has contentEnc',
    ],
    ['union', Type.Union([Type.String(), Type.Integer()]), 'no structural schema has anyOf'],
    ['pattern of keys', Type.Record(Type.String({ pattern: '^a' }), Type.String()), 'only one pattern for every key'],
    ['schema of other fields', Type.Object({}, { additionalProperties: Type.String() }), 'has additionalProperties'],
    ['number in an enum', Type.Enum(['A', 1]), 'only texts are expected'],
  ])('throws at a %s, at whatever depth', (_what, schema, message) => {
    expect(() => structuralSchema(schema)).toThrow(message);
    expect(() => structuralSchema(Type.Object({ list: Type.Array(schema) }))).toThrow(message);
  });
});
