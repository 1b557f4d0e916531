import { spawn, spawnSync } from 'node:child_process';
import { once } from 'node:events';
import { mkdirSync, mkdtempSync, renameSync, rmSync } from 'node:fs';
import { join } from 'node:path';
import {
  type Assets,
  BINARIES,
  type Binary,
  cacheFolder,
  findAssets,
  inspect,
  kubernetesVersion,
  oldestGo,
  PACKAGES,
} from './assets.ts';
import { onExit } from './on-exit.ts';

/** What came of looking for the binaries, and building them where needed. */
export type Provision =
  | { outcome: 'ready'; assets: Assets; built: number }
  | { outcome: 'impossible'; reason: string; remedy: string };

/**
 * The binaries of the control plane: KUBEBUILDER_ASSETS, or the cache, filled first where something is missing.
 *
 * @param report gets one line for each binary that was built
 * @throws Error when a build fails (Go's own message is on stderr by then), or KUBEBUILDER_ASSETS is incomplete
 */
export async function ensureAssets(report: (line: string) => void): Promise<Provision> {
  const found = findAssets();
  if (found && (process.env.KUBEBUILDER_ASSETS || found.missing.length === 0)) {
    return { outcome: 'ready', assets: found, built: 0 };
  }
  if (spawnSync('go', ['version']).error) {
    return {
      outcome: 'impossible',
      reason: 'there is no `go` to build kube-apiserver and etcd with',
      remedy: `install Go >= ${oldestGo()}, or set KUBEBUILDER_ASSETS to a folder that has them`,
    };
  }
  const folder = cacheFolder();
  const { missing } = inspect(folder);
  report(`building Kubernetes ${kubernetesVersion()} into ${folder} (once; some minutes)`);
  for (const binary of missing) {
    const seconds = await build(binary, folder);
    report(`${binary} built in ${Math.round(seconds)} s (${BINARIES.indexOf(binary) + 1} of ${BINARIES.length})`);
  }
  return { outcome: 'ready', assets: inspect(folder), built: missing.length };
}

/** Builds beside the cache and moves the result in, so that neither an interruption nor a second build spoils it. */
async function build(binary: Binary, folder: string): Promise<number> {
  const started = performance.now();
  mkdirSync(folder, { recursive: true });
  const scratch = mkdtempSync(join(folder, '.building-'));
  const discard = () => rmSync(scratch, { recursive: true, force: true });
  const forget = onExit(discard);
  try {
    const output = join(scratch, binary);
    const go = spawn('go', ['build', '-trimpath', '-ldflags', linkerFlags(), '-o', output, PACKAGES[binary]], {
      cwd: import.meta.dirname,
      env: { ...process.env, CGO_ENABLED: '0', GOWORK: 'off' },
      stdio: ['ignore', 'inherit', 'inherit'],
    });
    const stop = onExit(() => go.kill());
    const [code, signal] = await once(go, 'exit');
    stop();
    if (code !== 0) throw new Error(`${binary} did not build (go ended with ${code ?? signal})`);
    renameSync(output, join(folder, binary));
  } finally {
    discard();
    forget();
  }
  return (performance.now() - started) / 1000;
}

/** Clients refuse to talk to a server that does not know its version; a release build sets the same variables. */
function linkerFlags(): string {
  const version = kubernetesVersion();
  const [major, minor] = version.slice(1).split('.');
  const variable = (name: string, value?: string) => `-X k8s.io/component-base/version.${name}=${value}`;
  return ['-s -w', variable('gitVersion', version), variable('gitMajor', major), variable('gitMinor', minor)].join(' ');
}

async function main(): Promise<void> {
  try {
    const provision = await ensureAssets((line) => process.stdout.write(`${line}\n`));
    if (provision.outcome === 'impossible') {
      const { reason, remedy } = provision;
      if (process.env.CI !== 'true') {
        process.stdout.write(`tests against an API server are skipped: ${reason}; ${remedy}\n`);
      } else {
        process.stderr.write(`error: tests against an API server cannot run: ${reason}; ${remedy}\n`);
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
