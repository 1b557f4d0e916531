import { ok } from 'node:assert/strict';
import { readdirSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import fc from 'fast-check';
import { formatFindings, locateFindings } from '../../src/cli/talos/lint-findings.ts';
import type { InputError } from '../../src/files/input-error.ts';
import { parsePolicies } from '../../src/files/policy-files.ts';
import { derivePolicies } from '../../src/talos/derived-policies.ts';
import { parseTalosDocuments } from '../../src/talos/document-values.ts';
import { lint } from '../../src/talos/lint/lint.ts';
import { readMachineConfiguration } from '../../src/talos/machine-configuration.ts';
import { declarationOf } from '../../src/talos/node-declaration.ts';
import { formatPolicies } from '../../src/talos/policy-text.ts';
import { mutatedText } from './mutated.ts';
import { placed } from './policies.ts';
import { printable } from './printable.ts';
import { type FuzzTarget, target } from './target.ts';

/** Stands where machine configurations have tokens, keys and files. */
const SECRET = 'CANARY';

/** Machine configurations, healthy ones and broken ones. */
export const CONFIGURATIONS = ['healthy', 'broken'].flatMap((folder) => {
  const path = join(import.meta.dirname, '../unit/talos', folder);
  return readdirSync(path).map((name) =>
    readFileSync(join(path, name), 'utf8').replaceAll(/^(\s*(?:token|key|secret):) .*$/gm, `$1 ${SECRET}`),
  );
});

/** What `taintkeeper talos` does with a file. */
export const TALOS: readonly FuzzTarget[] = [
  target(
    'a machine configuration',
    2,
    fc.record({
      text: mutatedText(CONFIGURATIONS),
      version: fc.constantFrom(undefined, 3, 13, 15),
      role: fc.constantFrom('worker' as const, 'controlplane' as const),
    }),
    ({ text, ...options }) => {
      try {
        const configuration = readMachineConfiguration(parseTalosDocuments(text, 'fuzz.yaml'), 'fuzz.yaml');
        const findings = locateFindings('fuzz.yaml', lint(configuration, options));
        printable(formatFindings(findings, 'table', 'no-effect').replaceAll('\n', ''), 'the table');
        const derived = derivePolicies([declarationOf(configuration)], { mode: 'Restore' });
        if (derived.length > 0) parsePolicies([{ name: 'derived.yaml', text: formatPolicies(derived) }]);
      } catch (error) {
        placed(error, 'fuzz.yaml');
        ok(
          !(error as InputError).message.includes(SECRET),
          `an error shows a secret: ${(error as InputError).message}`,
        );
      }
    },
  ),
];
