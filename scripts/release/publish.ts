import { spawnSync } from 'node:child_process';
import { copyFileSync, mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join, resolve } from 'node:path';
import { type Release, readRelease, SUMS } from './manifest.ts';

/*
 * Signs and uploads what build.ts has made: `node scripts/release/publish.ts [--dry-run] FOLDER`. With --dry-run it checks every file and
 * prints what it would upload. It runs in the job that may write, so it imports nothing but Node.js and needs no `npm ci`; it calls
 * skopeo, helm, cosign and gh.
 *
 * From the workflow: RELEASE_DIGEST (the sum of the manifest), GITHUB_REF_NAME, IMAGE_REPOSITORY, CHART_REPOSITORY, REGISTRY_USER,
 * REGISTRY_TOKEN, GH_TOKEN, GITHUB_REPOSITORY, and PROVENANCE (a file that is uploaded beside the others).
 */

type Environment = Readonly<Record<string, string | undefined>>;

interface Upload {
  readonly what: string;
  readonly digest: string;
  readonly verified: string;
}

try {
  main(process.argv.slice(2), process.env);
} catch (error) {
  process.stderr.write(`${(error as Error).message}\n`);
  process.exitCode = 1;
}

function main(args: readonly string[], env: Environment): void {
  const dryRun = args[0] === '--dry-run';
  const [folder, ...others] = dryRun ? args.slice(1) : args;
  if (!folder || others.length > 0) throw new Error('usage: publish.ts [--dry-run] FOLDER');
  const release = readRelease(resolve(folder), env.RELEASE_DIGEST);
  const charts = env.CHART_REPOSITORY || 'CHART_REPOSITORY';
  print(uploadsOf(release, charts));
  const obstacle = obstacleTo(release, env);
  if (!dryRun && obstacle) throw new Error(`nothing is published: ${obstacle}`);
  if (dryRun) {
    process.stdout.write(obstacle ? `\nThis cannot be published: ${obstacle}\n` : '\nNothing was published.\n');
    return;
  }
  publish(resolve(folder), release, env);
}

/** Why a release cannot be published; undefined if it can. */
function obstacleTo(release: Release, env: Environment): string | undefined {
  const needed = [
    'RELEASE_DIGEST',
    'CHART_REPOSITORY',
    'IMAGE_REPOSITORY',
    'REGISTRY_USER',
    'REGISTRY_TOKEN',
    'GH_TOKEN',
    'GITHUB_REF_NAME',
    'GITHUB_REPOSITORY',
  ];
  if (!release.image.built) return 'its image was built on stand-ins for the base images';
  const missing = needed.filter((name) => !env[name]);
  if (missing.length > 0) return `${missing.join(', ')} not set`;
  if (env.GITHUB_REF_NAME !== release.tag) return `the tag is ${env.GITHUB_REF_NAME}, the release is ${release.tag}`;
  if (env.IMAGE_REPOSITORY !== release.image.repository) {
    return `IMAGE_REPOSITORY is ${env.IMAGE_REPOSITORY}, the release was built for ${release.image.repository}`;
  }
  return undefined;
}

function uploadsOf(release: Release, charts: string): Upload[] {
  const { image, version, files, chart } = release;
  const name = `${image.repository}:${version}`;
  return [
    image.built
      ? { what: `image ${name} (${image.platforms.join(', ')})`, digest: image.built.digest, verified: image.verified }
      : { what: `no image (${name})`, digest: '-', verified: image.verified },
    ...files
      .filter(({ file }) => file === chart)
      .map(({ sha256, verified }) => ({ what: `chart ${charts}/taintkeeper:${version}`, digest: sha256, verified })),
    ...files.map(({ file, sha256, verified }) => ({ what: `file ${file}`, digest: sha256, verified })),
  ];
}

function print(uploads: readonly Upload[]): void {
  const lines = uploads.map(({ what, digest, verified }) => `| ${what} | \`${digest}\` | ${verified} |\n`);
  process.stdout.write(`| upload | digest | verified |\n| --- | --- | --- |\n${lines.join('')}`);
}

function publish(folder: string, release: Release, env: Environment): void {
  const { image, version, tag, chart, files } = release;
  const built = image.built as NonNullable<typeof image.built>;
  const charts = env.CHART_REPOSITORY as string;
  const user = env.REGISTRY_USER as string;
  const token = env.REGISTRY_TOKEN as string;
  const settings = mkdtempSync(join(tmpdir(), 'release-'));
  try {
    // One file for skopeo, helm and cosign.
    const auth = join(settings, 'config.json');
    const as = { DOCKER_CONFIG: settings };
    for (const host of new Set([hostOf(image.repository), hostOf(charts)])) {
      run(
        'skopeo',
        [
          'login',
          '--authfile',
          auth,
          ...plain(host, '--tls-verify=false'),
          '--username',
          user,
          '--password-stdin',
          host,
        ],
        {
          input: token,
        },
      );
    }

    const sbom = join(folder, 'taintkeeper.cdx.json');
    const pushed = `${image.repository}@${built.digest}`;
    run('skopeo', [
      ...['copy', '--all', '--preserve-digests', '--authfile', auth],
      ...plain(image.repository, '--dest-tls-verify=false'),
      `oci-archive:${join(folder, built.file)}`,
      `docker://${image.repository}:${version}`,
    ]);
    run('cosign', ['sign', '--yes', '--recursive', pushed], as);
    run('cosign', ['attest', '--yes', '--type', 'cyclonedx', '--predicate', sbom, pushed], as);

    const { stdout, stderr } = run('helm', [
      ...['push', join(folder, chart), `oci://${charts}`, '--registry-config', auth],
      ...plain(charts, '--plain-http'),
    ]);
    const [, digest] = /^Digest: (sha256:[0-9a-f]{64})$/m.exec(stdout + stderr) ?? [];
    if (!digest) throw new Error(`helm push printed no digest:\n${stdout}${stderr}`);
    run('cosign', ['sign', '--yes', `${charts}/taintkeeper@${digest}`], as);

    const bundle = join(settings, `${SUMS}.sigstore.json`);
    run('cosign', ['sign-blob', '--yes', '--bundle', bundle, join(folder, SUMS)]);
    const provenance = join(settings, `taintkeeper-${version}.intoto.jsonl`);
    if (env.PROVENANCE) copyFileSync(env.PROVENANCE, provenance);
    run('gh', [
      ...['release', 'create', tag, '--repo', env.GITHUB_REPOSITORY as string, '--verify-tag', '--title', tag],
      ...['--notes-file', join(folder, 'release-notes.md')],
      ...files.map(({ file }) => join(folder, file)),
      ...[join(folder, SUMS), bundle, ...(env.PROVENANCE ? [provenance] : [])],
    ]);
  } finally {
    rmSync(settings, { recursive: true, force: true });
  }
}

/** @throws Error with what was printed when the program fails */
function run(
  program: string,
  args: readonly string[],
  { input, ...env }: Record<string, string> = {},
): { stdout: string; stderr: string } {
  process.stderr.write(`$ ${[program, ...args].join(' ')}\n`);
  const { status, stdout, stderr, error } = spawnSync(program, args, {
    encoding: 'utf8',
    env: { ...process.env, ...env },
    ...(input === undefined ? {} : { input }),
  });
  process.stderr.write(`${stdout ?? ''}${stderr ?? ''}`);
  if (error || status !== 0) throw new Error(`${program} ${args[0]} ended with ${error?.message ?? status}`);
  return { stdout, stderr };
}

function hostOf(repository: string): string {
  return repository.slice(0, repository.indexOf('/'));
}

/** An option for registries of this machine, which speak plain HTTP. */
function plain(repository: string, option: string): string[] {
  return /^(localhost|127\.0\.0\.1):/.test(repository) ? [option] : [];
}
