import { spawn, spawnSync } from 'node:child_process';
import { once } from 'node:events';
import { mkdirSync, mkdtempSync, renameSync, rmSync } from 'node:fs';
import { join } from 'node:path';
import { type Assets, findAssets } from './assets.ts';
import { cacheFolder, type GoModule, lockedVersion, oldestGo, unbuilt } from './go-modules.ts';
import { HELM } from './helm.ts';
import { KUBERNETES, OLDER_KUBERNETES } from './kubernetes.ts';
import { onExit } from './on-exit.ts';
import { PROMTOOL, promtoolPath, unpackPromtool } from './promtool.ts';

/** What came of looking for the binaries, and building them where needed. */
export type Provision =
  | { outcome: 'ready'; assets: Assets; built: number }
  | { outcome: 'impossible'; reason: string; remedy: string };

/**
 * The binaries of the control plane: KUBEBUILDER_ASSETS, or the cache, filled first where something is missing.
 *
 * @param report gets one line for each binary that was built
 * @param modules what to build; with KUBEBUILDER_ASSETS nothing is built
 * @throws Error when a build fails (Go's own message is on stderr by then), or KUBEBUILDER_ASSETS is incomplete
 */
export async function ensureAssets(
  report: (line: string) => void,
  modules: readonly GoModule[] = [KUBERNETES],
): Promise<Provision> {
  let built = 0;
  if (!process.env.KUBEBUILDER_ASSETS) {
    const incomplete = modules.filter((module) => unbuilt(module).length > 0);
    if (incomplete.length > 0 && spawnSync('go', ['version']).error) {
      return {
        outcome: 'impossible',
        reason: `there is no \`go\` to build ${incomplete.map(({ title }) => title).join(' and ')} with`,
        remedy: `install Go >= ${oldestGo(KUBERNETES)}, or set KUBEBUILDER_ASSETS to a folder that has the binaries`,
      };
    }
    for (const module of incomplete) built += await buildModule(module, report);
  }
  const assets = findAssets('newest');
  if (!assets) throw new Error('the binaries vanished while others were built');
  return { outcome: 'ready', assets, built };
}

async function buildModule(module: GoModule, report: (line: string) => void): Promise<number> {
  const folder = cacheFolder(module);
  const missing = unbuilt(module);
  report(`building ${module.title} ${lockedVersion(module)} into ${folder} (once; some minutes)`);
  for (const [index, program] of missing.entries()) {
    const seconds = await build(module, program, folder);
    report(`${program} built in ${Math.round(seconds)} s (${index + 1} of ${missing.length})`);
  }
  return missing.length;
}

/** Builds beside the cache and moves the result in, so that neither an interruption nor a second build spoils it. */
async function build(module: GoModule, program: string, folder: string): Promise<number> {
  const started = performance.now();
  mkdirSync(folder, { recursive: true });
  const scratch = mkdtempSync(join(folder, '.building-'));
  const discard = () => rmSync(scratch, { recursive: true, force: true });
  const forget = onExit(discard);
  try {
    const output = join(scratch, program);
    const go = spawn(
      'go',
      [
        'build',
        '-trimpath',
        ...(module.tags ? ['-tags', module.tags.join(',')] : []),
        '-ldflags',
        linkerFlags(module),
        '-o',
        output,
        `${module.packages[program]}`,
      ],
      {
        cwd: module.folder,
        env: { ...process.env, CGO_ENABLED: '0', GOWORK: 'off' },
        stdio: ['ignore', 'inherit', 'inherit'],
      },
    );
    const stop = onExit(() => go.kill());
    const [code, signal] = await once(go, 'exit');
    stop();
    if (code !== 0) throw new Error(`${program} did not build (go ended with ${code ?? signal})`);
    renameSync(output, join(folder, program));
  } finally {
    discard();
    forget();
  }
  return (performance.now() - started) / 1000;
}

function linkerFlags(module: GoModule): string {
  const variables = Object.entries(module.linkerVariables(lockedVersion(module)));
  return ['-s -w', ...variables.map(([name, value]) => `-X ${name}=${value}`)].join(' ');
}

async function main(): Promise<void> {
  try {
    const report = (line: string) => process.stdout.write(`${line}\n`);
    if (!promtoolPath() && unpackPromtool()) report("promtool unpacked from Debian's package");
    const modules = [KUBERNETES, OLDER_KUBERNETES, HELM, ...(promtoolPath() ? [] : [PROMTOOL])];
    const provision = await ensureAssets(report, modules);
    if (provision.outcome === 'impossible') {
      const { reason, remedy } = provision;
      if (process.env.CI !== 'true') {
        process.stdout.write(`tests that need it are skipped: ${reason}; ${remedy}\n`);
      } else {
        process.stderr.write(`error: tests cannot run: ${reason}; ${remedy}\n`);
        process.exitCode = 1;
      }
    } else if (provision.assets.missing.length > 0) {
      const { folder, missing } = provision.assets;
      process.stdout.write(`${folder} has no ${missing.join(', no ')}: tests that need them are skipped\n`);
    }
  } catch (error) {
    process.stderr.write(`error: ${error instanceof Error ? error.message : error}\n`);
    process.exitCode = 1;
  }
}

if (import.meta.main) await main();
