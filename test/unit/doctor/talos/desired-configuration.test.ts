import { expect, it } from 'vitest';
import { runChecks } from '../../../../src/doctor/run-checks.ts';
import type { NodeAnswer } from '../../../../src/doctor/talos/ask-apid.ts';
import { configurationChecks } from '../../../../src/doctor/talos/desired-configuration.ts';
import type { TalosFacts } from '../../../../src/doctor/talos/talos-facts.ts';
import { parseDocuments } from '../../../../src/files/documents.ts';
import { readMachineConfiguration } from '../../../../src/talos/machine-configuration.ts';

const running = (version: string) =>
  ({
    name: version,
    at: { host: '192.0.2.1', port: 50_000 },
    isForwarded: false,
    mayBeInMaintenance: false,
    version: { ok: true, value: version },
  }) as NodeAnswer;

const LIST = 'machine: { type: worker, kubelet: { extraArgs: { node-labels: [a=b, c=d] } } }';

it.each([
  { versions: ['v1.13.5'], refused: true },
  { versions: ['v1.13.6'], refused: false },
  { versions: ['v1.13.6', 'v1.13.0'], refused: true },
  { versions: ['v1.14.0'], refused: false },
])('a list for one argument is refused before 1.13.6: $versions', ({ versions, refused }) => {
  const configuration = readMachineConfiguration(parseDocuments(LIST, 'f.yaml'), 'f.yaml');
  const checks = configurationChecks({ file: 'f.yaml', configuration, disabled: [] }, versions.map(running));
  // These read no other facts.
  const results = runChecks(checks, {} as TalosFacts);
  const problems = results.filter(({ state }) => state === 'problem');
  expect(problems.map(({ evidence }) => evidence)).toEqual(
    refused ? [expect.stringContaining('Talos 1.13.0 to 1.13.5 cannot read a list here')] : [],
  );
});
