import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import fc from 'fast-check';
import { expect, it } from 'vitest';
import { stringify } from 'yaml';
import { formatFindings, locateFindings } from '../../../../src/cli/talos/lint-findings.ts';
import { parseDocuments } from '../../../../src/files/documents.ts';
import { InputError } from '../../../../src/files/input-error.ts';
import { documentKinds } from '../../../../src/talos/fields.ts';
import { lint } from '../../../../src/talos/lint/lint.ts';
import { readMachineConfiguration } from '../../../../src/talos/machine-configuration.ts';
import { BROKEN, HEALTHY, yamlFiles } from './linted-files.ts';

const SECRET = 'CaNaRy';

/** All that lint has to say of a text, or the error that ends it. */
function output(text: string): string {
  try {
    const configuration = readMachineConfiguration(parseDocuments(text, 'f.yaml', { secret: true }), 'f.yaml');
    return [undefined, 5, 13, 15]
      .flatMap((version) =>
        (['worker', 'controlplane'] as const).map((role) =>
          formatFindings(
            locateFindings('f.yaml', lint(configuration, { version, role, registered: configuration })),
            'json',
            'no-effect',
          ),
        ),
      )
      .join('\n');
  } catch (error) {
    if (error instanceof InputError) return error.message;
    throw error;
  }
}

/** Of these alone, values are shown: taints and labels are on every node for all to see. */
const SHOWN = /^(nodeTaints|nodeLabels|taints|labels|registerWithTaints|register-with-taints|node-labels)$/;
const STRUCTURE = /^(kind|apiVersion|type|op|path)$/;

/** Every value a secret, but those. */
function withSecrets(value: unknown, key = ''): unknown {
  if (SHOWN.test(key) || STRUCTURE.test(key)) return value;
  if (Array.isArray(value)) return value.map((item) => withSecrets(item));
  if (typeof value === 'object' && value !== null) {
    return Object.fromEntries(Object.entries(value).map(([name, below]) => [name, withSecrets(below, name)]));
  }
  return `${SECRET}:443`;
}

it.each([HEALTHY, BROKEN].flatMap((directory) => yamlFiles(directory).map((file) => ({ directory, file }))))(
  'no value of $file is ever shown',
  ({ directory, file }) => {
    const path = join(directory, file);
    const text = readFileSync(path, 'utf8');
    expect(output(text)).not.toContain('CANARY');

    const secret = parseDocuments(text, path).map(({ value }) => stringify(withSecrets(value)));
    expect(output(secret.join('---\n'))).not.toContain(SECRET);
  },
);

const NAMES = fc.constantFrom(
  ...[
    'machine',
    'cluster',
    'kubelet',
    'network',
    'extraArgs',
    'extraConfig',
    'registerWithTaints',
    'certSANs',
    'apiServer',
  ],
  ...[
    'nodeTaints',
    'nodeLabels',
    'token',
    'install',
    'image',
    'type',
    'taints',
    'labels',
    'config',
    '$patch',
    'features',
  ],
  ...['register-with-taints', 'node-labels', 'allowSchedulingOnControlPlanes', 'interfaces', 'unknown', '__proto__'],
);

const { tree } = fc.letrec((tie) => ({
  tree: fc.oneof(
    { depthSize: 'small' },
    fc.constantFrom(SECRET, `${SECRET}:443`, null, true, 7),
    fc.array(tie('tree'), { maxLength: 3 }),
    fc.dictionary(NAMES, tie('tree'), { maxKeys: 6 }),
  ),
}));

const documents = fc.oneof(
  fc.record({ machine: tree, cluster: tree }, { requiredKeys: [] }),
  fc.tuple(fc.constantFrom(...documentKinds(), 'Unknown'), fc.dictionary(NAMES, tree)).map(([kind, rest]) => ({
    ...rest,
    apiVersion: 'v1alpha1',
    kind,
  })),
  fc.array(
    fc.record({ op: fc.constantFrom('add', 'replace', 'remove'), path: fc.constant('/machine/token'), value: tree }),
  ),
  tree,
);

it('whatever a configuration looks like, there is an answer, and it has no values', () => {
  fc.assert(
    fc.property(fc.array(documents, { minLength: 1, maxLength: 3 }), (found) => {
      const shown = output(found.map((document) => stringify(withoutShown(document))).join('---\n'));
      expect(shown).not.toContain(SECRET);
    }),
    { numRuns: 100 },
  );
});

/** Without what is shown, for a value there may stand in the output. */
function withoutShown(value: unknown): unknown {
  if (Array.isArray(value)) return value.map(withoutShown);
  if (typeof value !== 'object' || value === null) return value;
  return Object.fromEntries(
    Object.entries(value).map(([name, below]) => [
      name,
      SHOWN.test(name) ? JSON.parse(JSON.stringify(below ?? null).replaceAll(SECRET, 'shown')) : withoutShown(below),
    ]),
  );
}
