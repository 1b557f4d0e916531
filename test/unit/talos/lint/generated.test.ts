import { existsSync } from 'node:fs';
import { join } from 'node:path';
import { assert, describe, expect, it } from 'vitest';
import { formatPath } from '../../../../src/policy/problem.ts';
import { lint } from '../../../../src/talos/lint/lint.ts';
import { readMachineConfigurations } from '../../../../src/talos/read-machine-configurations.ts';
import { FIRST_VERSION, LAST_VERSION } from '../../../../src/talos/versions.ts';

// What Talos itself generates (`generate.Input.Config` of its machinery, for the version contracts 1.3 to 1.15), with its keys
// and tokens replaced. `base` is made without options; `overrides` with what `talosctl gen config` can be asked for, a schedulable
// control plane among it; `more` with KubeSpan, KubePrism, an installer's image and certificates of registries. A file holds
// until the version that has another one.
const GENERATED = join(import.meta.dirname, '..', 'generated');
const VARIANTS = ['base', 'overrides', 'more'] as const;
const VERSIONS = Array.from({ length: LAST_VERSION - FIRST_VERSION + 1 }, (_, index) => FIRST_VERSION + index);

function generatedFile(variant: string, role: string, contract: number): string {
  const path = join(GENERATED, `v1.${contract}-${variant}-${role}.yaml`);
  return existsSync(path) ? path : generatedFile(variant, role, contract - 1);
}

const CASES = VARIANTS.flatMap((variant) =>
  ['controlplane', 'worker'].flatMap((role) => VERSIONS.map((contract) => ({ variant, role, contract }))),
);

describe.each(CASES)('what Talos 1.$contract generates: $variant, $role', ({ variant, role, contract }) => {
  const read = async () => {
    const [configuration] = await readMachineConfigurations([generatedFile(variant, role, contract)]);
    assert(configuration);
    return configuration;
  };

  it('nothing is said of it, but that Talos calls a field deprecated', async () => {
    const configuration = await read();
    // v1alpha1_types.go of Talos 1.12: "Use Image Factory/imager instead to build a proper installer".
    const isOld = variant === 'overrides' && (contract === 12 || contract === 13);
    const expected = isOld ? ['deprecated-field machine.install.extraKernelArgs'] : [];
    const findings = lint(configuration, { version: contract });
    expect(findings.map(({ rule, path }) => `${rule} ${formatPath(path)}`)).toEqual(expected);
    expect(lint(configuration)).toEqual([]);
  });

  it('every later Talos takes it still', async () => {
    const configuration = await read();
    for (const version of VERSIONS.filter((later) => later > contract)) {
      const findings = lint(configuration, { version });
      expect
        .soft(
          findings.filter(({ severity }) => severity !== 'deprecated'),
          `1.${version}`,
        )
        .toEqual([]);
    }
  });
});
