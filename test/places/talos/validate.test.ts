import { readdirSync, readFileSync } from 'node:fs';
import { basename, join } from 'node:path';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { PROGRAM } from '../../control-plane/program.ts';
import { runTool } from '../../control-plane/run-tool.ts';
import { createWorkspace, type Workspace } from '../../control-plane/workspace.ts';
import { skipFor } from '../../skip-for.ts';
import { CONFIGURATIONS, type Configuration, textOf } from './configurations.ts';
import { type GeneratedConfigurations, generateConfigurations, type RunTalosctl } from './generate.ts';
import { obstacleToTalos, TALOS_VERSION, talosFile } from './programs.ts';

/** What the unit tests generate, and what they call healthy, as far as it is a whole configuration. */
const UNIT = join(import.meta.dirname, '..', '..', 'unit', 'talos');
const MINOR = Number(TALOS_VERSION.split('.')[1]);

describe(`talosctl ${TALOS_VERSION} validate and taintkeeper talos lint`, skipFor(obstacleToTalos()), () => {
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
    const lintArgs = ['talos', 'lint', file, '--talos-version', `1.${MINOR}`, '-o', 'json'];
    const [validated, linted] = await Promise.all([
      talosctl(['validate', '--mode', 'metal', '--config', file]),
      runTool(process.execPath, [PROGRAM, ...lintArgs], { env: process.env }),
    ]);
    return {
      talos: validated.code === 0 ? 'accepts' : validated.stderr,
      lint: inShort(linted.code, linted.stdout),
    };
  }

  const agreeing = CONFIGURATIONS.filter(({ talos, lint }) => talos === lint);
  const more = CONFIGURATIONS.filter(({ talos, lint }) => talos !== lint);

  it.each(agreeing)('agree on $what', async (configuration) => {
    expect(await ask(textOf(configuration, generated))).toEqual(expectedOf(configuration));
  });

  it.each(more)('lint says more of $what', async (configuration) => {
    expect(await ask(textOf(configuration, generated))).toEqual(expectedOf(configuration));
  });

  const files = ['generated', 'healthy'].flatMap((folder) =>
    readdirSync(join(UNIT, folder))
      .filter((name) => Number(/^v1\.(\d+)-/.exec(name)?.[1] ?? Number.POSITIVE_INFINITY) <= MINOR)
      .map((name) => ({ file: join(UNIT, folder, name), name: `${folder}/${basename(name)}` })),
  );
  it.each(files)('agree on $name of the unit tests', async ({ file }) => {
    const { talos, lint } = await ask(readFileSync(file, 'utf8'));
    expect({ talos, lint: lint.replace(/^deprecated .*/, 'accepts') }).toEqual({ talos: 'accepts', lint: 'accepts' });
  });
});

function expectedOf({ talos, refusal, lint }: Configuration & { refusal?: string }): object {
  return refusal === undefined ? { talos, lint } : { talos: expect.stringContaining(refusal), lint: 'refuses' };
}

/** As configurations.ts has it. Exit code 2 means that lint could not read the configuration, and says why. */
function inShort(code: number, stdout: string): string {
  if (code === 2) return 'refuses';
  const { findings } = JSON.parse(stdout) as { findings: { severity: string; rule: string }[] };
  if (findings.some(({ severity }) => severity === 'refused')) return 'refuses';
  return [...new Set(findings.map(({ severity, rule }) => `${severity} ${rule}`))].join(', ') || 'accepts';
}
