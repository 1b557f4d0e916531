import { readdirSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { runTool } from '../../control-plane/run-tool.ts';
import { createWorkspace, type Workspace } from '../../control-plane/workspace.ts';
import { skipFor } from '../../skip-for.ts';
import { run } from '../../unit/cli/run-command.ts';
import { CONFIGURATIONS, type Configuration, textOf } from './configurations.ts';
import { edited } from './edits.ts';
import { type GeneratedConfigurations, generateConfigurations, type RunTalosctl } from './generate.ts';
import { obstacleToTalos, TALOS_VERSION, talosFile } from './programs.ts';
import { readContext } from './talosconfigs.ts';

const MINOR = Number(TALOS_VERSION.split('.')[1]);
/** What Talos generates for each version, with keys and certificates replaced: the unit tests have it. */
const GENERATED = join(import.meta.dirname, '..', '..', 'unit', 'talos', 'generated');
/** Talos refuses these for machines with a disk only, although it generates them. Lint does not know what a machine has. */
const REFUSED = {
  files: /^v1\.1[23]-overrides-/,
  refusal: "install.extraKernelArgs and install.grubUseUKICmdline can't be used together",
};

const title = `talosctl ${TALOS_VERSION} validate and taintkeeper talos lint`;
describe(title, skipFor(obstacleToTalos(['talosctl'])), () => {
  let workspace: Workspace;
  let generated: GeneratedConfigurations;
  const talosctl: RunTalosctl = async (args) =>
    runTool(talosFile('talosctl'), args, { env: { ...process.env, HOME: workspace.path('home'), TALOSCONFIG: '' } });

  beforeAll(async () => {
    workspace = createWorkspace('validate');
    generated = await generateConfigurations(workspace, 'validated', talosctl);
  });
  afterAll(() => workspace?.remove());

  /** What both say of a text. */
  async function ask(text: string): Promise<{ talos: string; lint: string }> {
    const file = workspace.write('configuration.yaml', text);
    const linted = await run('talos', 'lint', file, '--talos-version', `1.${MINOR}`, '-o', 'json');
    const validated = await talosctl(['validate', '--mode', 'metal', '--config', file]);
    return {
      talos: validated.code === 0 ? 'accepts' : validated.stderr,
      lint: inShort(linted.code, linted.stdout),
    };
  }

  const [agreeing, differing] = [true, false].map((agrees) =>
    CONFIGURATIONS.filter(({ talos, lint }) => (talos === lint) === agrees),
  ) as [Configuration[], Configuration[]];

  it.each(agreeing)('agree on $what', async (configuration) => {
    expect(await ask(textOf(configuration, generated))).toEqual(expectedOf(configuration));
  });

  it.each(differing)('differ on $what: $why', async (configuration) => {
    expect(await ask(textOf(configuration, generated))).toEqual(expectedOf(configuration));
  });

  const files = readdirSync(GENERATED).filter((name) => Number(/^v1\.(\d+)-/.exec(name)?.[1]) <= MINOR);
  it.each(files)('agree on %s of the unit tests', async (name) => {
    const text = readFileSync(join(GENERATED, name), 'utf8');
    // What a user fills in: the disk, and the certificate of a registry.
    const { ca = '' } = readContext(generated.talosconfig);
    const pem = JSON.stringify(Buffer.from(ca, 'base64').toString());
    const whole = edited(text, { set: { 'machine.install.disk': '/dev/sda' } });
    const { talos, lint } = await ask(whole.replaceAll(/^ca: REDACTED$/gm, `ca: ${pem}`));
    expect({ talos, lint: lint.replace(/^deprecated .*/, 'accepts') }).toEqual({
      talos: REFUSED.files.test(name) ? expect.stringContaining(REFUSED.refusal) : 'accepts',
      lint: 'accepts',
    });
  });
});

function expectedOf({ talos, refusal, lint = 'refuses' }: Configuration & { refusal?: string }): object {
  return { talos: refusal === undefined ? talos : expect.stringContaining(refusal), lint };
}

/** As configurations.ts has it. Exit code 2 means that lint could not read the configuration, and says why. */
function inShort(code: number | null, stdout: string): string {
  if (code === 2) return 'refuses';
  const { findings } = JSON.parse(stdout) as { findings: { severity: string; rule: string }[] };
  if (findings.some(({ severity }) => severity === 'refused')) return 'refuses';
  return [...new Set(findings.map(({ severity, rule }) => `${severity} ${rule}`))].join(', ') || 'accepts';
}
