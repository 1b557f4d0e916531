import { execFileSync, spawn, spawnSync } from 'node:child_process';
import { once } from 'node:events';
import { copyFileSync, cpSync, mkdirSync, mkdtempSync, readFileSync, renameSync, rmSync, writeFileSync } from 'node:fs';
import { basename, join } from 'node:path';
import { text } from 'node:stream/consumers';
import { ACTIONLINT } from './actionlint.ts';
import { findAssets, givenFolder } from './assets.ts';
import { whyGoFailed } from './go-failure.ts';
import {
  cacheFolder,
  type GoModule,
  lockedModule,
  lockedVersion,
  oldestGo,
  programName,
  unbuilt,
} from './go-modules.ts';
import { HELM, helmPath } from './helm.ts';
import { KARPENTER } from './karpenter.ts';
import { KUBERNETES, type Need, OTHER_VERSIONS, otherKubernetes, REQUIRED } from './kubernetes.ts';
import { noteNotBuilt } from './not-built.ts';
import { onExit } from './on-exit.ts';
import { PROMTOOL, promtoolPath, unpackPromtool } from './promtool.ts';

/**
 * Builds what the cache lacks of these modules, each program by itself. One that cannot be built is no error: the reason is noted for
 * this process and those that it starts (see not-built.ts), and what needs the program says so.
 *
 * @param report gets one line for each program
 * @returns how many programs could not be built
 */
export async function buildModules(modules: readonly GoModule[], report: (line: string) => void): Promise<number> {
  const missing = modules.flatMap((module) => unbuilt(module).map((program) => ({ module, program })));
  if (missing.length === 0) return 0;
  if (spawnSync('go', ['version']).error) {
    for (const { module, program } of missing) {
      noteNotBuilt(module, program, `not built, because Go is not installed; install Go ${oldestGo(module)} or newer`);
    }
    report(
      `not built, because Go is not installed: ${missing.map((one) => programName(one.module, one.program)).join(', ')}`,
    );
    return missing.length;
  }
  report(`building from Go modules, once, in some minutes: ${missing.map((one) => one.program).join(', ')}`);
  let failed = 0;
  for (const { module, program } of missing) {
    const name = programName(module, program);
    const started = performance.now();
    const failure = await build(module, program);
    if (failure === undefined) {
      report(`${name} built in ${Math.round((performance.now() - started) / 1000)} s`);
    } else {
      failed++;
      noteNotBuilt(module, program, failure);
      report(`${name} did not build: ${failure}`);
    }
  }
  return failed;
}

/**
 * Builds beside the cache and moves the result in, so that neither an interruption nor a second build spoils it.
 *
 * @returns why it did not build, if so
 */
async function build(module: GoModule, program: string): Promise<string | undefined> {
  const folder = cacheFolder(module);
  mkdirSync(folder, { recursive: true });
  const scratch = mkdtempSync(join(folder, '.building-'));
  const discard = () => rmSync(scratch, { recursive: true, force: true });
  const forget = onExit(discard);
  try {
    const output = join(scratch, program);
    const command = module.compiledTests?.includes(program) ? ['test', '-c', '-vet=off'] : ['build'];
    let flags: string[];
    try {
      flags = [...buildFlags(module, program), ...patchedSource(module, program, scratch)];
    } catch (error) {
      const { stderr, message } = error as Error & { stderr?: string };
      return whyGoFailed(stderr || message);
    }
    const go = spawn('go', [...command, ...flags, '-o', output, `${module.packages[program]}`], {
      cwd: module.folder,
      env: { ...process.env, CGO_ENABLED: '0', GOWORK: 'off' },
      stdio: ['ignore', 'ignore', 'pipe'],
    });
    const stop = onExit(() => go.kill());
    const [stderr, [code]] = await Promise.all([text(go.stderr), once(go, 'exit')]);
    stop();
    if (code !== 0) return whyGoFailed(stderr);
    // First, so that with the program they are there.
    copyFiles(module, program, folder);
    renameSync(output, join(folder, program));
    return undefined;
  } finally {
    discard();
    forget();
  }
}

/** The module's own files and folders, out of Go's cache. */
function copyFiles(module: GoModule, program: string, folder: string): void {
  if (!module.files) return;
  const args = ['list', '-f', '{{.Module.Dir}}', `${module.packages[program]}`];
  const root = execFileSync('go', args, { cwd: module.folder, encoding: 'utf8' }).trim();
  for (const file of module.files) cpSync(join(root, file), join(folder, basename(file)), { recursive: true });
}

/**
 * A patched copy of the source of the module that has the program. Go refuses to overlay files of its module cache.
 *
 * @returns the flags with which `go build` reads the copy
 * @throws Error when a file does not have the text to replace exactly once
 */
function patchedSource(module: GoModule, program: string, scratch: string): string[] {
  if (!module.patches?.length) return [];
  const { path } = lockedModule(module, program);
  const downloaded = execFileSync('go', ['mod', 'download', '-json', path], { cwd: module.folder, encoding: 'utf8' });
  const { Dir } = JSON.parse(downloaded) as { Dir: string };
  const copy = join(scratch, 'source');
  execFileSync('cp', ['--recursive', '--no-preserve=mode', Dir, copy]);
  for (const { file, from, to } of module.patches) {
    const parts = readFileSync(join(copy, file), 'utf8').split(from);
    if (parts.length !== 2) throw new Error(`${path}: ${file} has ${parts.length - 1} times: ${from}`);
    writeFileSync(join(copy, file), parts.join(to));
  }
  const modfile = join(scratch, 'go.mod');
  const goMod = readFileSync(join(module.folder, 'go.mod'), 'utf8');
  writeFileSync(modfile, `${goMod}\nreplace ${path} => ${copy}\n`);
  copyFileSync(join(module.folder, 'go.sum'), join(scratch, 'go.sum'));
  return [`-modfile=${modfile}`];
}

function buildFlags(module: GoModule, program: string): string[] {
  const variables = Object.entries(module.linkerVariables(lockedVersion(module, program)));
  const linker = ['-s -w', ...variables.map(([name, value]) => `-X ${name}=${value}`)].join(' ');
  // The linker leaves out what debuggers read. Not to compile it either saves a tenth of the time.
  return [
    '-trimpath',
    '-gcflags=all=-dwarf=false',
    ...(module.tags ? ['-tags', module.tags.join(',')] : []),
    '-ldflags',
    linker,
  ];
}

/**
 * Builds what some tests need from Go modules. With KUBEBUILDER_ASSETS, or the binaries on the PATH, no control plane of the newest version.
 *
 * @returns how many programs could not be built
 * @throws Error when KUBEBUILDER_ASSETS names a folder without etcd, kube-apiserver or kubectl, or with another version
 */
export async function buildAll(
  report: (line: string) => void,
  { components, karpenter, versions }: Pick<Need, 'components' | 'karpenter' | 'versions'>,
): Promise<number> {
  if (!promtoolPath() && unpackPromtool()) report("promtool unpacked from Debian's package");
  const given = givenFolder();
  if (given) {
    findAssets();
    report(`control plane: the binaries of ${given}`);
  }
  const tools = [...(helmPath() ? [] : [HELM]), ACTIONLINT, ...(promtoolPath() ? [] : [PROMTOOL])];
  const controlPlanes = [
    ...(given ? [] : [components ? KUBERNETES : only(KUBERNETES, REQUIRED)]),
    ...[...new Set(versions)].map(otherKubernetes),
    ...(karpenter ? [KARPENTER] : []),
  ];
  return buildModules([...controlPlanes, ...tools], report);
}

function only(module: GoModule, programs: readonly string[]): GoModule {
  const packages = Object.entries(module.packages).filter(([program]) => programs.includes(program));
  return { ...module, packages: Object.fromEntries(packages) };
}

if (import.meta.main) {
  // `npm run control-plane:build 1.35 karpenter`: those, too.
  const asked = process.argv.slice(2);
  const known: readonly string[] = [...OTHER_VERSIONS, 'karpenter'];
  const unknown = asked.filter((name) => !known.includes(name));
  if (unknown.length > 0) {
    process.stderr.write(`error: no ${unknown.join(', ')}: there are ${known.join(', ')}\n`);
    process.exit(1);
  }
  const versions = OTHER_VERSIONS.filter((version) => asked.includes(version));
  const karpenter = asked.includes('karpenter');
  const failed = await buildAll((line) => process.stdout.write(`${line}\n`), { components: true, karpenter, versions });
  process.exitCode = failed > 0 ? 1 : 0;
}
