import { appendFileSync, cpSync, existsSync, mkdirSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { basename, join, resolve } from 'node:path';
import { buildModules } from '../../test/control-plane/build.ts';
import { HELM, obstacleToHelm, runHelm } from '../../test/control-plane/helm.ts';
import { KUBERNETES } from '../../test/control-plane/kubernetes.ts';
import { createWorkspace } from '../../test/control-plane/workspace.ts';
import { imageObstacle } from '../../test/image/buildah.ts';
import { unpinnedBaseImages } from '../../test/image/product-image.ts';
import { obstacleToRealNode } from '../../test/real-node/obstacle.ts';
import { provideRealNode } from '../../test/real-node/provide.ts';
import { installPackages } from '../../test/runner/debian-packages.ts';
import { IMAGE, INSTALL } from '../chart.ts';
import { buildBundle } from './bundle.ts';
import { packChart } from './chart.ts';
import { neededLibraries } from './elf.ts';
import {
  checkLibraries,
  checkLicences,
  commandOf,
  EMULATION,
  lockedNode,
  packExecutable,
  prepareExecutables,
  TARGETS,
  type Target,
} from './executable.ts';
import { type BuiltImage, buildImage, obstacleToBaseImages } from './image.ts';
import { KREW_MANIFEST, type KrewArchive, krewManifest } from './krew.ts';
import { MANIFEST, type ReleasedFile, sealRelease, sha256 } from './manifest.ts';
import { checkIsDated, releaseNotes, textForGitHub } from './notes.ts';
import { installNpmPackage, packNpmPackage } from './npm-package.ts';
import { checkIsOnMain } from './on-main.ts';
import { ROOT, run } from './run.ts';
import { tryOnRealNode } from './trial.ts';
import { checkPagesSayPublished } from './unpublished-pages.ts';
import { agreedVersion, imagesOf, namedVersions } from './versions.ts';

/*
 * Makes every artifact of a release and tries each: `node scripts/release/build.ts [--dry-run] FOLDER`. publish.ts uploads what it leaves in
 * the folder. What is not to be uploaded is made in a workspace elsewhere.
 *
 * Without --dry-run it builds for the tag GITHUB_REF_NAME and the repositories IMAGE_REPOSITORY and CHART_REPOSITORY. With it, these may be
 * missing, and where the base images cannot be pulled (not on GitHub), the image is built on stand-ins and stays in the workspace.
 */

const PROBE = join(ROOT, 'examples', 'remove-control-plane-taint.json');

const dryRun = process.argv[2] === '--dry-run';
const folder = resolve(process.argv[dryRun ? 3 : 2] ?? join(ROOT, 'dist', 'release'));
const version = agreedVersion();
const tag = `v${version}`;
/** On GitHub they can be pulled, so a failure is one of the Dockerfile's. */
const basesAreNeeded = !dryRun || process.env.GITHUB_ACTIONS === 'true';
const imageFile = `taintkeeper-image-${version}.tar`;
checkSettings();
const repository = process.env.IMAGE_REPOSITORY || IMAGE;
const homepage = process.env.GITHUB_REPOSITORY
  ? `${process.env.GITHUB_SERVER_URL ?? 'https://github.com'}/${process.env.GITHUB_REPOSITORY}`
  : undefined;
const revision = run('git', ['rev-parse', 'HEAD']).trim();
/** Of all files in archives and images: that of the commit. */
const timestamp = Number(run('git', ['log', '-1', '--format=%ct']));

rmSync(folder, { recursive: true, force: true });
mkdirSync(folder, { recursive: true });
const workspace = createWorkspace('release');
const scratch = workspace.path('scratch');
mkdirSync(scratch);
const report = (line: string) => process.stderr.write(`${line}\n`);
await buildModules([KUBERNETES, HELM], report);
await provideRealNode(report);
const missing = Object.entries(EMULATION).flatMap(([name, file]) => (existsSync(file) ? [] : [name]));
installPackages(missing, report);

const files = new Map<string, ReleasedFile>();
let failures = 0;

await step('release-notes.md', (file) => {
  const notes = textForGitHub(notesOfRelease(), `${homepage ?? 'https://releases.invalid'}/blob/${tag}/CHANGELOG.md`);
  writeFileSync(file, notes);
  return `${notes.split('\n').length} lines; all ${namedVersions().length} places say ${version}`;
});

await step(`taintkeeper-npm-${version}.tgz`, (file) => {
  cpSync(packNpmPackage(buildBundle(scratch), scratch), file);
  const command = installNpmPackage(file, join(scratch, 'empty'));
  return `installed into an empty folder without a registry; ${answers([command])}`;
});

const ingredients = await attempt('Node.js of the executables', () => {
  const made = prepareExecutables(join(scratch, 'executables'));
  return [made, `${lockedNode()}, with the sums of its lock file`];
});
for (const target of TARGETS) {
  await step(archiveOf(target), (file) => {
    if (!ingredients) throw new Error('there is no Node.js for it');
    const executable = packExecutable(file, ingredients, target, timestamp);
    checkLicences(file);
    checkLibraries(neededLibraries(executable));
    const command = commandOf(executable, target);
    return `${answers(command)}${command.length > 1 ? ' (emulated)' : ''}; has the licences of all parts`;
  });
}

await step(KREW_MANIFEST, (file) => {
  const archives = TARGETS.flatMap((target): KrewArchive[] => {
    const archive = files.get(archiveOf(target));
    return archive ? [{ os: 'linux', arch: target.arch, url: urlOf(archive.file), sha256: archive.sha256 }] : [];
  });
  writeFileSync(file, krewManifest(version, homepage ?? 'https://releases.invalid', archives));
  return `for krew: ${archives.length} platforms, with the sums of the archives`;
});

await step('taintkeeper.cdx.json', (file) => {
  const sbom = run('npm', ['sbom', '--package-lock-only', '--omit', 'dev', '--sbom-format', 'cyclonedx']);
  writeFileSync(file, sbom);
  return `${(JSON.parse(sbom) as { components: unknown[] }).components.length} components`;
});

const image = await attempt('image', () => {
  const obstacle = imageObstacle();
  if (obstacle) throw new Error(obstacle);
  const unpinned = unpinnedText();
  if (unpinned && !dryRun) throw new Error(unpinned);
  const noBases = obstacleToBaseImages(workspace);
  if (noBases && basesAreNeeded) throw new Error(`the base images cannot be pulled: ${noBases}`);
  const built = buildImage(workspace, `${repository}:${version}`, revision, timestamp, noBases !== undefined);
  if (!built.onStandIns) cpSync(built.archive, join(folder, imageFile));
  const said = [`${built.digest} for ${built.platforms.join(', ')}`, built.reproducible, unpinned];
  return [built, said.filter((text) => text !== undefined).join('; ')];
});
const digest = image && !image.onStandIns ? image.digest : undefined;

await step('install.yaml', (file) => {
  const text = readFileSync(INSTALL, 'utf8').replaceAll(`${IMAGE}:${version}`, imageName());
  writeFileSync(file, text);
  const images = imagesOf(text);
  if (images.join() !== imageName()) throw new Error(`its image is ${images}`);
  return `its image is ${images}`;
});

const chart = `taintkeeper-${version}.tgz`;
await step(chart, async (file) => {
  const obstacle = obstacleToHelm();
  if (obstacle) throw new Error(obstacle);
  await packChart(folder, scratch, { repository, digest }, notesOfRelease(), homepage);
  const { code, stdout, stderr } = await runHelm(['template', 'taintkeeper', file]);
  if (code !== 0) throw new Error(`helm template: ${stderr}`);
  const images = imagesOf(stdout);
  if (images.some((name) => name !== imageName())) throw new Error(`its image is ${images}`);
  return `lints; rendered without values, its image is ${imageName()}`;
});

const trial = await attempt('on a real node', async () => {
  const obstacle = obstacleToRealNode();
  if (obstacle) throw new Error(obstacle);
  if (!image || !files.has(chart)) throw new Error('there is no chart or no image');
  const { archive, digest: pinned } = image;
  const seen = await tryOnRealNode(join(folder, chart), { archive, repository, tag: version, digest: pinned });
  return [seen, seen];
});

if (failures === 0 && image && trial) seal(image, trial);
workspace.remove();
report(failures === 0 ? `ok     ${folder}` : `FAILED ${failures} parts`);
process.exitCode = failures === 0 ? 0 : 1;

function seal(built: BuiltImage, seen: string): void {
  sealRelease(folder, {
    version,
    tag,
    revision,
    image: {
      repository,
      platforms: built.platforms,
      ...(built.onStandIns ? {} : { built: { file: imageFile, digest: built.digest } }),
      verified: `${built.onStandIns ? 'built on stand-ins for the base images, which stay here' : built.reproducible}; ${seen}`,
    },
    chart,
    files: [...files.values()].map((entry) =>
      entry.file === chart ? { ...entry, verified: `${entry.verified}; ${seen}` } : entry,
    ),
  });
  const { GITHUB_OUTPUT } = process.env;
  const outputs = `digest=${sha256(join(folder, MANIFEST))}\nimage-digest=${digest ?? ''}\n`;
  if (GITHUB_OUTPUT) appendFileSync(GITHUB_OUTPUT, outputs);
}

/** @throws Error when something that a release needs is not set, the commit is not on main, its changelog has no date, or a page denies the image; only a trial does without */
function checkSettings(): void {
  const { GITHUB_REF_NAME, IMAGE_REPOSITORY, CHART_REPOSITORY, GITHUB_REPOSITORY } = process.env;
  if (dryRun) return;
  const settings = { GITHUB_REF_NAME, IMAGE_REPOSITORY, CHART_REPOSITORY, GITHUB_REPOSITORY };
  const unset = Object.entries(settings).flatMap(([name, value]) => (value ? [] : [name]));
  if (unset.length > 0) throw new Error(`not set: ${unset.join(', ')}`);
  if (GITHUB_REF_NAME !== tag) throw new Error(`the tag is ${GITHUB_REF_NAME}, package.json says ${version}`);
  checkIsOnMain(ROOT);
  checkIsDated(changelog(), version);
  checkPagesSayPublished(ROOT);
}

/** Makes a file of the release. `make` gets its path, and returns what was seen when it was tried. */
async function step(file: string, make: (path: string) => string | Promise<string>): Promise<void> {
  await attempt(file, async () => {
    const path = join(folder, file);
    const verified = await make(path);
    files.set(file, { file, sha256: sha256(path), verified });
    return [path, verified];
  });
}

/** @returns what `make` returned, with what it has to say about it second; undefined when it failed, which is reported */
async function attempt<T>(what: string, make: () => [T, string] | Promise<[T, string]>): Promise<T | undefined> {
  const started = performance.now();
  const seconds = () => ((performance.now() - started) / 1000).toFixed(1);
  try {
    const [made, said] = await make();
    report(`ok     ${what} (${seconds()} s): ${said}`);
    return made;
  } catch (error) {
    failures += 1;
    report(`FAILED ${what} (${seconds()} s): ${(error as Error).message}`);
    return undefined;
  }
}

/** @throws Error when the program does not say its version, or does not refuse what it should */
function answers([program = '', ...args]: readonly string[]): string {
  const said = run(program, [...args, '--version']).trim();
  if (said !== version) throw new Error(`--version says ${said}`);
  const started = performance.now();
  const result = review(program, args);
  if (result !== 'denied') throw new Error(`its review of ${basename(PROBE)} says ${result}`);
  return `says ${version} and denies ${basename(PROBE)} after ${Math.round(performance.now() - started)} ms`;
}

function review(program: string, args: readonly string[]): string | undefined {
  try {
    run(program, [...args, 'review', PROBE], { cwd: scratch, env: { PATH: process.env.PATH } });
    return 'allowed';
  } catch (error) {
    return /\bdenied\b/.exec((error as Error).message)?.[0];
  }
}

function archiveOf({ arch }: Target): string {
  return `taintkeeper-linux-${arch}.tar.gz`;
}

function urlOf(file: string): string {
  return `${homepage ?? 'https://releases.invalid'}/releases/download/${tag}/${file}`;
}

function notesOfRelease(): string {
  return releaseNotes(changelog(), version);
}

function changelog(): string {
  return readFileSync(join(ROOT, 'CHANGELOG.md'), 'utf8');
}

/** What keeps a release from being built; undefined if all base images have digests. */
function unpinnedText(): string | undefined {
  const images = unpinnedBaseImages();
  if (images.length === 0) return undefined;
  return `the Dockerfile names ${images.join(' and ')} without a digest: write IMAGE@DIGEST, with what "docker buildx imagetools inspect IMAGE" prints as Digest`;
}

/** As manifests name it. */
function imageName(): string {
  return digest ? `${repository}@${digest}` : `${repository}:${version}`;
}
