import { createHash } from 'node:crypto';
import { cpSync, existsSync, mkdirSync, readFileSync, rmSync, statSync, writeFileSync } from 'node:fs';
import { basename, join } from 'node:path';
import { obstacleToHelm, runHelm } from '../../test/control-plane/helm.ts';
import { imageObstacle } from '../../test/image/buildah.ts';
import { obstacleToRealNode } from '../../test/real-node/obstacle.ts';
import { provideRealNode } from '../../test/real-node/provide.ts';
import { IMAGE, INSTALL } from '../chart.ts';
import { buildBundle } from './bundle.ts';
import { packChart } from './chart.ts';
import { buildExecutable } from './executable.ts';
import { buildImage } from './image.ts';
import { krewManifest } from './krew.ts';
import { releaseNotes } from './notes.ts';
import { installNpmPackage, packNpmPackage } from './npm-package.ts';
import { ROOT, run } from './run.ts';
import { tryOnRealNode } from './trial.ts';
import { imagesOf, namedVersions } from './versions.ts';

/*
 * All artifacts of a release, made and tried on this machine, and published nowhere: `npm run release:dry [-- FOLDER]`. What needs root,
 * Helm or a real node, and cannot have it, is named in the table and makes the end a failure.
 */

interface Row {
  readonly artifact: string;
  readonly check: string;
  readonly seconds: number;
  readonly ok: boolean;
}

const rows: Row[] = [];
const folder = process.argv[2] ?? join(ROOT, 'dist', 'release');
const version = readVersion();
/** What a workflow knows better: where the image went, and where the release can be read. */
const repository = process.env.TAINTKEEPER_RELEASE_IMAGE || IMAGE;
const digest = process.env.TAINTKEEPER_RELEASE_DIGEST || undefined;
const homepage = process.env.TAINTKEEPER_RELEASE_URL || undefined;
const PROBE = join(ROOT, 'examples', 'drop-control-plane-taint.json');

await provideRealNode((line) => process.stderr.write(`${line}\n`));
rmSync(folder, { recursive: true, force: true });
const scratch = join(folder, 'scratch');
mkdirSync(scratch, { recursive: true });

await step('versions', () => `all ${namedVersions().length} places say ${version}`);

await step('release-notes.md', () => {
  const notes = notesOfRelease();
  writeFileSync(join(folder, 'release-notes.md'), notes);
  return `${notes.split('\n').length} lines of CHANGELOG.md`;
});

await step('npm package', () => {
  const archive = packNpmPackage(buildBundle(scratch), scratch);
  const kept = join(folder, `taintkeeper-npm-${version}.tgz`);
  cpSync(archive, kept);
  return reviews(installNpmPackage(kept, join(scratch, 'empty')), 'installed without a registry');
});

const platform = `${process.platform}-${process.arch}`;
const packed = join(folder, `taintkeeper-${platform}.tar.gz`);
await step('executable', () => {
  const executable = buildExecutable(join(scratch, 'executable'));
  cpSync(join(ROOT, 'LICENSE'), join(scratch, 'executable', 'LICENSE'));
  run('tar', [
    '--create',
    '--gzip',
    '--file',
    packed,
    '--directory',
    join(scratch, 'executable'),
    'taintkeeper',
    'LICENSE',
  ]);
  const mib = Math.round(statSync(executable).size / 2 ** 20);
  return reviews(executable, `${mib} MiB for ${platform}, without Node.js`);
});

await step('krew manifest', () => {
  const url = `${homepage ?? 'https://releases.invalid'}/releases/download/v${version}/${basename(packed)}`;
  const arch = process.arch === 'x64' ? 'amd64' : process.arch;
  const archive = { os: process.platform, arch, url, sha256: sha256(packed) };
  writeFileSync(
    join(folder, 'taintkeeper.krew.yaml'),
    krewManifest(version, homepage ?? 'https://releases.invalid', [archive]),
  );
  return 'its sum is that of the archive';
});

await step('sbom', () => {
  const sbom = run('npm', ['sbom', '--package-lock-only', '--omit', 'dev', '--sbom-format', 'cyclonedx']);
  writeFileSync(join(folder, 'taintkeeper.cdx.json'), sbom);
  return `${(JSON.parse(sbom) as { components: unknown[] }).components.length} components (CycloneDX)`;
});

await step('install.yaml', () => {
  const text = readFileSync(INSTALL, 'utf8').replaceAll(`${IMAGE}:${version}`, imageName());
  writeFileSync(join(folder, 'install.yaml'), text);
  const images = imagesOf(text);
  if (images.join() !== imageName()) throw new Error(`its image is ${images}`);
  return `its image is ${images}`;
});

const chart = join(folder, `taintkeeper-${version}.tgz`);
await step('chart', async () => {
  const obstacle = obstacleToHelm();
  if (obstacle) throw new Error(obstacle);
  await packChart(folder, scratch, { repository, digest }, notesOfRelease(), homepage);
  const { code, stdout, stderr } = await runHelm(['template', 'taintkeeper', chart]);
  if (code !== 0) throw new Error(`helm template: ${stderr}`);
  const images = imagesOf(stdout);
  if (images.some((name) => name !== imageName())) throw new Error(`its image is ${images}`);
  return `lints; rendered from the archive without values, its image is ${imageName()}`;
});

const image = join(folder, 'taintkeeper-image-amd64.tar');
await step('image', () => {
  const obstacle = imageObstacle();
  if (obstacle) throw new Error(obstacle);
  const revision = run('git', ['rev-parse', 'HEAD']).trim();
  const timestamp = Number(run('git', ['log', '-1', '--format=%ct']));
  const built = buildImage(folder, `${IMAGE}:${version}`, revision, timestamp);
  if (built.digest === built.digestAgain) return `built twice: ${built.digest}`;
  // The last one is V8's compile cache, which depends on what was compiled when.
  if (built.differingLayers.join() === String(built.layers)) {
    return `${built.digest}; built twice, only the layer of V8's compile cache differs`;
  }
  throw new Error(
    `built twice, it differs in layers ${built.differingLayers.join(', ') || 'none, but in its configuration'}`,
  );
});

await step('on a real node', () => {
  const obstacle = obstacleToRealNode();
  if (obstacle) throw new Error(obstacle);
  if (!existsSync(image) || !existsSync(chart)) throw new Error('there is no chart or no image');
  return tryOnRealNode(chart, image, IMAGE);
});

rmSync(scratch, { recursive: true, force: true });
const files = run('find', [folder, '-maxdepth', '1', '-type', 'f']).trim().split('\n').sort();
writeFileSync(join(folder, 'SHA256SUMS'), files.map((file) => `${sha256(file)}  ${basename(file)}\n`).join(''));
print();
process.exitCode = rows.every(({ ok }) => ok) ? 0 : 1;

async function step(artifact: string, make: () => string | Promise<string>): Promise<void> {
  const started = performance.now();
  const end = (check: string, ok: boolean) => {
    rows.push({ artifact, check, ok, seconds: (performance.now() - started) / 1000 });
    process.stderr.write(`${ok ? 'ok    ' : 'FAILED'} ${artifact}: ${check}\n`);
  };
  try {
    end(await make(), true);
  } catch (error) {
    end((error as Error).message, false);
  }
}

/** @throws Error when the program does not refuse what it should */
function reviews(program: string, what: string): string {
  const started = performance.now();
  const { verdict } = review(program);
  if (verdict !== 'denied') throw new Error(`its review ended with ${verdict}`);
  return `${what}: review says denied after ${Math.round(performance.now() - started)} ms`;
}

function review(program: string): { verdict: string | undefined } {
  try {
    run(program, ['review', PROBE], { cwd: scratch, env: { PATH: process.env.PATH } });
    return { verdict: 'allowed' };
  } catch (error) {
    return { verdict: /\bdenied\b/.exec((error as Error).message)?.[0] };
  }
}

function notesOfRelease(): string {
  return releaseNotes(readFileSync(join(ROOT, 'CHANGELOG.md'), 'utf8'), version);
}

/** As manifests name it. */
function imageName(): string {
  return digest ? `${repository}@${digest}` : `${repository}:${version}`;
}

function sha256(file: string): string {
  return createHash('sha256').update(readFileSync(file)).digest('hex');
}

/** @throws Error when places disagree */
function readVersion(): string {
  const named = namedVersions();
  const [first] = named;
  const others = named.filter((one) => one.version !== first?.version);
  if (!first?.version || others.length > 0) {
    throw new Error(named.map(({ place, version: said }) => `${place} says ${said}`).join(', '));
  }
  return first.version;
}

function print(): void {
  const sizes = files.map(
    (file) => `| \`${basename(file)}\` | ${size(statSync(file).size)} | \`${sha256(file).slice(0, 16)}…\` |`,
  );
  const checks = rows.map(
    ({ artifact, check, seconds, ok }) =>
      `| ${artifact} | ${ok ? 'ok' : '**failed**'} | ${seconds.toFixed(1)} s | ${check.split('\n')[0]} |`,
  );
  process.stdout.write(
    [
      '| file | size | sha256 |',
      '| --- | --- | --- |',
      ...sizes,
      '',
      '| part | | took | what was seen |',
      '| --- | --- | --- | --- |',
      ...checks,
      '',
    ].join('\n'),
  );
}

function size(bytes: number): string {
  return bytes < 2 ** 20 ? `${Math.ceil(bytes / 1024)} KiB` : `${(bytes / 2 ** 20).toFixed(1)} MiB`;
}
