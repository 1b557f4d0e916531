import { readdirSync, readFileSync } from 'node:fs';
import { describe, expect, it } from 'vitest';
import { parse } from 'yaml';
import { crdFiles } from '../../../scripts/crds.ts';
import type { StructuralSchema } from '../../../scripts/structural-schema.ts';

const COMMITTED = new URL('../../../manifests/chart/files/crds/', import.meta.url);

interface Crd {
  metadata: { name: string };
  spec: {
    scope: string;
    names: Record<string, unknown>;
    versions: { name: string; schema: { openAPIV3Schema: StructuralSchema } }[];
  };
}

interface Place {
  readonly path: string;
  readonly schema: StructuralSchema;
}

/** A schema and all schemas within it. */
function places(schema: StructuralSchema, path = ''): Place[] {
  return [
    { path, schema },
    ...Object.entries(schema.properties ?? {}).flatMap(([name, field]) => places(field, `${path}.${name}`)),
    ...(schema.items ? places(schema.items, `${path}[]`) : []),
    ...(schema.additionalProperties ? places(schema.additionalProperties, `${path}{}`) : []),
  ];
}

function isBounded({ type, enum: values, format, ...schema }: StructuralSchema): boolean {
  switch (type) {
    case 'string':
      // A time is as long as a time is.
      return values !== undefined || format === 'date-time' || typeof schema.maxLength === 'number';
    case 'array':
      return typeof schema.maxItems === 'number';
    case 'object':
      return schema.additionalProperties === undefined || typeof schema.maxProperties === 'number';
    case 'boolean':
      return true;
    case 'integer':
      return typeof schema.minimum === 'number' && typeof schema.maximum === 'number';
    default:
      return false;
  }
}

const files = crdFiles();

it('the committed CRDs are those of the schemas: otherwise run `npm run generate`', () => {
  expect(readdirSync(COMMITTED).sort()).toEqual(Object.keys(files).sort());
  for (const [file, text] of Object.entries(files)) {
    expect(readFileSync(new URL(file, COMMITTED), 'utf8')).toBe(text);
  }
});

describe.each(Object.entries(files))('%s', (file, text) => {
  const crd = parse(text) as Crd;
  const found = places(crd.spec.versions[0]?.schema.openAPIV3Schema ?? {});

  it('is named after what it defines, and cluster-scoped', () => {
    expect(`${crd.metadata.name}.yaml`).toBe(file);
    expect(crd).toMatchObject({
      metadata: { name: `${crd.spec.names.plural}.taintkeeper.dev` },
      spec: { scope: 'Cluster' },
    });
    expect(crd.spec.names.categories).toEqual(['taintkeeper']);
    expect(crd.spec.versions.map(({ name }) => name)).toEqual(['v1alpha1']);
  });

  it('describes every field', () => {
    // Items of a list are described by the list.
    const fields = found.filter(({ path }) => !path.endsWith('[]'));
    expect(fields.length).toBeGreaterThan(20);
    expect(fields.filter(({ schema }) => typeof schema.description !== 'string').map(({ path }) => path)).toEqual([]);
  });

  it('bounds every text, list, map and number, so that no rule can cost too much', () => {
    expect(found.filter(({ schema }) => !isBounded(schema)).map(({ path }) => path)).toEqual([]);
  });

  it('has no default within a list', () => {
    const withDefault = found.filter(({ schema }) => schema.default !== undefined).map(({ path }) => path);
    expect(withDefault.length > 0).toBe(true);
    expect(withDefault.filter((path) => path.includes('[]'))).toEqual([]);
  });
});
