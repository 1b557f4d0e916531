import { chownSync, mkdirSync, readdirSync, readFileSync, statSync } from 'node:fs';
import { join } from 'node:path';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { INSTALL } from '../../scripts/chart.ts';
import { VERSION } from '../../src/version.ts';
import { launch, type Supervised } from '../control-plane/process.ts';
import { createRestClient } from '../control-plane/rest.ts';
import { waitUntil } from '../control-plane/wait-until.ts';
import { createWorkspace, type Workspace } from '../control-plane/workspace.ts';
import { deploymentOf, objectsOf } from '../e2e/kubernetes-objects.ts';
import { skipFor } from '../skip-for.ts';
import { type Buildah, createBuildah, imageObstacle } from './buildah.ts';
import { buildProductImage, dockerfileOnStandIns, RUNTIME_BASE } from './product-image.ts';

const ROOT = join(import.meta.dirname, '..', '..');
const IMAGE = 'localhost/taintkeeper';
const USER = 65532;
const START_TIMEOUT_MS = 20_000;

/** Every file of a folder, as it is named inside of it. */
function filesIn(folder: string): string[] {
  const entries = readdirSync(folder, { recursive: true, withFileTypes: true });
  return entries
    .filter((entry) => !entry.isDirectory())
    .map((entry) => join(entry.parentPath, entry.name).slice(folder.length))
    .sort();
}

describe('the container image', skipFor(imageObstacle()), () => {
  let workspace: Workspace;
  let buildah: Buildah;
  let root: string;

  beforeAll(() => {
    workspace = createWorkspace('image');
    buildah = createBuildah(workspace);
    buildProductImage(buildah, IMAGE, { revision: 'abc123', dockerfile: dockerfileOnStandIns(buildah, workspace) });
    root = buildah.mount(IMAGE);
  });
  afterAll(() => workspace?.remove());

  it('adds the program to its base, readable by all users and writable by none: no npm, no shell, no sources', () => {
    const inBase = filesIn(buildah.mount(RUNTIME_BASE));
    const added = filesIn(root).filter((file) => !inBase.includes(file));
    expect(added).toContain('/app/taintkeeper.cjs');
    const compiled = added.filter((file) => file.startsWith('/app/compile-cache/'));
    // What other commands load, some of them to look into pods, and a log on a terminal.
    const idle = ['ask-apid', 'commands', 'web-socket-handler', 'pino-pretty'].map((name) => `/app/${name}.cjs`);
    expect(added).toEqual(expect.arrayContaining(idle));
    expect(compiled).toHaveLength(added.filter((file) => file.endsWith('.cjs')).length - idle.length);
    const kinds = added.map((file) =>
      file.replace(/[\w-]+\.cjs$/, '*.cjs').replace(/\/v\d[^/]+-(\d+)\/[\da-f]+$/, '/*-$1/*'),
    );
    expect([...new Set(kinds)].sort()).toEqual([
      '/app/*.cjs',
      '/app/LICENSE',
      '/app/THIRD-PARTY-NOTICES.txt',
      `/app/compile-cache/*-${USER}/*`,
    ]);
    const written = added
      .map((file) => statSync(join(root, file)))
      .filter(({ mode, uid }) => mode & 0o222 || uid !== 0);
    expect(written).toEqual([]);
  });

  it('starts the program itself, not a shell, as an ordinary user', () => {
    const { User, Entrypoint, Cmd } = buildah.config(IMAGE);
    expect({ User, Entrypoint, Cmd }).toEqual({
      User: `${USER}:${USER}`,
      Entrypoint: ['/nodejs/bin/node', '/app/taintkeeper.cjs'],
      Cmd: ['serve'],
    });
  });

  it('says what it is, and which ports it listens on', () => {
    const { Labels, ExposedPorts } = buildah.config(IMAGE);
    expect(Labels).toMatchObject({
      'org.opencontainers.image.title': 'taintkeeper',
      'org.opencontainers.image.licenses': 'Apache-2.0',
      'org.opencontainers.image.version': VERSION,
      'org.opencontainers.image.revision': 'abc123',
    });
    expect(Object.keys(ExposedPorts).sort()).toEqual(['8080/tcp', '8443/tcp']);
  });

  it('is built from what .dockerignore lets through, which has no keys, no modules and no tests', () => {
    const dockerfile = workspace.write('context.Dockerfile', 'FROM scratch\nCOPY . /\n');
    buildah.build('localhost/context', { dockerfile, context: ROOT });
    const files = filesIn(buildah.mount('localhost/context'));
    const folders = new Set(
      files.map((file) =>
        file
          .split('/')
          .slice(1, file.startsWith('/manifests') ? 3 : 2)
          .join('/'),
      ),
    );
    expect([...folders].sort()).toEqual([
      'LICENSE',
      'bin',
      'manifests/policies',
      'package-lock.json',
      'package.json',
      'rolldown.config.ts',
      'scripts',
      'src',
    ]);
    expect(files.filter((file) => /\.(key|crt|pem)$/.test(file))).toEqual([]);
  });

  describe('runs, with the user and the environment of the Deployment, on a read-only root', () => {
    let process: Supervised;
    let urls: { url: string; adminUrl: string };
    let volume: string;

    beforeAll(async () => {
      volume = workspace.path('volume');
      mkdirSync(volume);
      chownSync(volume, USER, USER);
      const { Entrypoint, Cmd, Env } = buildah.config(IMAGE);
      const { container } = deploymentOf(objectsOf(readFileSync(INSTALL, 'utf8')));
      const given = container.env.flatMap(({ name, value }) => (value === undefined ? [] : [[name, value]]));
      // A volume on /tmp for the certificates; then nothing else can be written to, and no privilege be gained.
      const script = [
        'mount --bind "$1" "$1" && mount --bind "$2" "$1/tmp" && mount -o remount,bind,ro "$1" || exit 125',
        'root=$1; shift 2',
        `exec setpriv --no-new-privs chroot --userspec=${USER}:${USER} --groups= "$root" "$@"`,
      ].join('\n');
      const command = [...Entrypoint, ...Cmd, '--port', '0', '--admin-port', '0', '--cert-dir', '/tmp'];
      const args = ['--mount', '--propagation', 'private', 'sh', '-c', script, 'sh', root, volume, ...command];
      process = await launch('taintkeeper', 'unshare', args, {
        logFile: workspace.logFile('taintkeeper'),
        env: {
          ...Object.fromEntries(Env.map((variable) => variable.split(/=(.*)/s))),
          ...Object.fromEntries(given),
          PATH: globalThis.process.env.PATH,
          NODE_DEBUG_NATIVE: 'COMPILE_CACHE',
        },
      });
      const serving = await waitUntil(
        () => {
          if (process.exit) throw process.failure('ended');
          return process
            .log()
            .split('\n')
            .find((line) => line.includes('"msg":"serving"'));
        },
        { timeoutMs: START_TIMEOUT_MS, otherwise: () => process.failure('does not serve').message },
      );
      urls = JSON.parse(serving) as typeof urls;
    });
    afterAll(() => process?.stop(START_TIMEOUT_MS));

    it('as 65532, without capabilities, with a root that it cannot write to', () => {
      const status = readFileSync(`/proc/${process.pid}/status`, 'utf8');
      expect(status).toMatch(new RegExp(`^Uid:(\\s+${USER}){4}$`, 'm'));
      expect(status).toMatch(/^CapEff:\s+0+$/m);
      expect(status).toMatch(/^NoNewPrivs:\s+1$/m);
      const mounts = readFileSync(`/proc/${process.pid}/mountinfo`, 'utf8').split('\n');
      expect(mounts.find((line) => line.split(' ')[4] === '/')).toMatch(/^\S+ \S+ \S+ \S+ \/ ro,/);
    });

    it('takes what was compiled when the image was built', () => {
      const said = process.log().split('\n');
      const accepted = said.filter((line) => /code cache for CommonJS \/app\/\S+ was accepted/.test(line));
      expect(accepted.length).toBeGreaterThan(1);
      expect(said.filter((line) => /cache for .* was rejected/.test(line))).toEqual([]);
    });

    it('answers /readyz', async () => {
      const response = await fetch(`${urls.adminUrl}/readyz`);
      expect([response.status, await response.text()]).toEqual([200, expect.stringMatching(/ready\n$/)]);
    });

    it('has the page', async () => {
      const html = await (await fetch(urls.adminUrl)).text();
      const [, script = ''] = /<script type="module" src="([^"]+)"/.exec(html) ?? [];
      expect((await fetch(new URL(script, urls.adminUrl))).headers.get('content-type')).toMatch(/^text\/javascript/);
    });

    it('judges a review over TLS, by the built-in policies', async () => {
      const review = readFileSync(join(ROOT, 'examples', 'remove-control-plane-taint.json'), 'utf8');
      const ca = readFileSync(join(volume, 'ca.crt'), 'utf8');
      const client = createRestClient(`https://localhost:${new URL(urls.url).port}`, ca);
      try {
        const answer = await client.request('POST', '/validate', { body: review });
        expect(answer).toMatchObject({ status: 200, body: { response: { allowed: false, status: { code: 403 } } } });
      } finally {
        client.close();
      }
    });

    it('ends by itself on SIGTERM', async () => {
      expect(await process.stop(START_TIMEOUT_MS)).toEqual({ code: 0, signal: null });
    });
  });
});
