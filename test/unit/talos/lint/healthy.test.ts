import { existsSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import Schema from 'typebox/schema';
import { describe, expect, it } from 'vitest';
import { parseDocuments } from '../../../../src/files/documents.ts';
import { formatTaint } from '../../../../src/kubernetes/taint.ts';
import { documentKinds } from '../../../../src/talos/fields.ts';
import { RULES } from '../../../../src/talos/lint/lint.ts';
import { impliedTaint } from '../../../../src/talos/node-declaration.ts';
import { readMachineConfigurations } from '../../../../src/talos/read-machine-configurations.ts';
import { skipFor } from '../../../skip-for.ts';
import { BROKEN, HEALTHY, lintFile, REAL, yamlFiles } from './linted-files.ts';

/** The version in a file's name; undefined where it has none. */
function versionOf(file: string): number | undefined {
  const minor = /^v1\.(\d+)-/.exec(file)?.[1];
  return minor === undefined ? undefined : Number(minor);
}

it.each(yamlFiles(HEALTHY))('of %s, nothing is said', async (file) => {
  expect(await lintFile(join(HEALTHY, file))).toEqual([]);
  expect(await lintFile(join(HEALTHY, file), { version: versionOf(file) })).toEqual([]);
});

const TALOS = join(REAL, 'talos');

const needsReal = skipFor(existsSync(TALOS) ? undefined : 'there are no fixtures in ../shared');

describe('of real configurations', needsReal, () => {
  it.each(existsSync(TALOS) ? yamlFiles(TALOS) : [])('%s: nothing', async (file) => {
    expect(await lintFile(join(TALOS, file))).toEqual([]);
    expect(await lintFile(join(TALOS, file), { version: versionOf(file) })).toEqual([]);
  });
});

const ROLE = 'node-role.kubernetes.io/control-plane';
const NOT_BALANCED = 'node.kubernetes.io/exclude-from-external-load-balancers';

it.each([
  { file: 'v1.13-controlplane', role: 'controlplane', taints: [], labels: [NOT_BALANCED], implied: ROLE },
  { file: 'v1.13-worker', role: 'worker', taints: [], labels: [], implied: undefined },
  {
    file: 'v1.15-controlplane',
    role: 'controlplane',
    taints: [`${ROLE}:NoSchedule`],
    labels: [ROLE, NOT_BALANCED],
    implied: undefined,
  },
  { file: 'v1.15-worker', role: 'worker', taints: [], labels: [], implied: undefined },
  {
    file: 'kubenodeconfig',
    role: undefined,
    taints: ['exampletaint=examplevalue:NoSchedule'],
    labels: ['examplelabel'],
    implied: undefined,
  },
])('what $file declares', needsReal, async ({ file, role, taints, labels, implied }) => {
  const [configuration] = await readMachineConfigurations([join(TALOS, `${file}.yaml`)]);
  expect({
    role: configuration?.role,
    taints: configuration?.taints.map(({ value }) => formatTaint(value)),
    labels: configuration?.labels.map(({ value }) => value.key),
    implied: configuration && impliedTaint(configuration)?.key,
  }).toEqual({ role, taints, labels, implied });
});

interface Definition {
  readonly $ref?: string;
  readonly properties?: { readonly kind?: { readonly enum: readonly string[] } };
}

interface SchemaFile {
  readonly $defs: Record<string, Definition>;
  readonly oneOf: readonly Definition[];
}

/** The fields that the schema refuses, as JSON pointers; of a kind that it does not have, `/kind`. */
function refusedFields(schema: SchemaFile, value: object): string[] {
  const kind = (value as { kind?: string }).kind;
  const names = schema.oneOf.map(({ $ref = '' }) => $ref.replace('#/$defs/', ''));
  const name = names.find((each) => schema.$defs[each]?.properties?.kind?.enum[0] === kind);
  const definition = name === undefined ? undefined : schema.$defs[name];
  if (!definition) return ['/kind'];
  const [, errors] = Schema.Errors({ ...definition, $defs: schema.$defs }, value);
  return errors.flatMap((error) =>
    error.keyword === 'additionalProperties'
      ? error.params.additionalProperties.map((field) => `${error.instancePath}/${field.replaceAll('/', '~1')}`)
      : [],
  );
}

describe("the JSON Schema of Talos' configuration judges what is said of unknown fields", needsReal, () => {
  const schema = (): SchemaFile => JSON.parse(readFileSync(join(TALOS, 'config.schema.json'), 'utf8'));
  const ABOUT_UNKNOWN = ['unknown-field', 'misplaced-field', 'certificate-names'];

  it.each(['unknown-fields', 'kubelet-under-cluster', 'cluster-under-kubelet', 'cert-sans'])('%s', async (file) => {
    const path = join(BROKEN, `${file}.yaml`);
    const definitions = schema();
    const refused = parseDocuments(readFileSync(path, 'utf8'), path).flatMap(({ value }) =>
      refusedFields(definitions, value as object),
    );
    const findings = (await lintFile(path)).filter(
      ({ rule, reason }) => ABOUT_UNKNOWN.includes(rule) && /no /.test(reason),
    );
    expect(findings.length).toBeGreaterThan(0);
    for (const { field } of findings.filter(({ field }) => !field.includes('[') || field.includes('interfaces'))) {
      const pointer = `/${field.replaceAll(/\[(\d+)\]/g, '.$1').replaceAll('.', '/')}`;
      // What stands below a refused field is not looked at.
      expect
        .soft(
          refused.some((other) => pointer === other || pointer.startsWith(`${other}/`)),
          field,
        )
        .toBe(true);
    }
  });

  it('and accepts what nothing is said of', () => {
    const definitions = schema();
    for (const file of yamlFiles(TALOS).filter((name) => !name.startsWith('v1.13'))) {
      for (const { value } of parseDocuments(readFileSync(join(TALOS, file), 'utf8'), file)) {
        // Talos writes "persist" into every configuration, and leaves it out of its schema.
        expect
          .soft(
            refusedFields(definitions, value as object).filter((field) => field !== '/persist'),
            file,
          )
          .toEqual([]);
      }
    }
  });

  it('and has no kind of document that is not known', () => {
    const { oneOf, $defs } = schema();
    const kinds = oneOf.flatMap(({ $ref = '' }) => $defs[$ref.replace('#/$defs/', '')]?.properties?.kind?.enum ?? []);
    // The schema leaves the end off the names of two kinds, by which Talos does not know them.
    expect(kinds.filter((kind) => !documentKinds().includes(kind))).toEqual(['KubeSpanEndpoints', 'UnattendedInstall']);
  });
});

it('rules have names and explanations of their own', () => {
  expect(new Set(RULES.map(({ id }) => id)).size).toBe(RULES.length);
  for (const { id, about } of RULES) {
    expect.soft(id).toMatch(/^[a-z]+(-[a-z]+)*$/);
    expect.soft(about).toMatch(/^[A-Z`].*\.$/);
  }
});
