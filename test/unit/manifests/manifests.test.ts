import { execFileSync } from 'node:child_process';
import { globSync, readdirSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { expect, it } from 'vitest';
import { parse } from 'yaml';
import { CHART, chartFiles, INSTALL } from '../../../scripts/chart.ts';
import { lockedNode, TARGETS } from '../../../scripts/release/executable.ts';
import { VERSION } from '../../../src/version.ts';
import { deploymentOf, objectsOf } from '../../e2e/kubernetes-objects.ts';
import { baseImagesOf, unpinnedBaseImages } from '../../image/product-image.ts';
import { run } from '../cli/run-command.ts';

const ROOT = join(import.meta.dirname, '..', '..', '..');
const objects = objectsOf(readFileSync(INSTALL, 'utf8'));
const { deployment, container } = deploymentOf(objects);
const option = (name: string) => container.args.find((arg) => arg.startsWith(`--${name}=`))?.split('=')[1];

it('files of the chart: what is generated, the policies of manifests/policies, and nothing else', () => {
  const held = readdirSync(join(CHART, 'files'), { recursive: true, withFileTypes: true })
    .filter((entry) => entry.isFile())
    .map((entry) => join(entry.parentPath, entry.name).slice(CHART.length + 1));
  expect(new Map(held.sort().map((path) => [path, readFileSync(join(CHART, path), 'utf8')]))).toEqual(chartFiles());
});

it('admission policies have the defaults of the API server: their constraints are one atomic field', () => {
  const policies = objects.filter(({ kind }) => kind === 'ValidatingAdmissionPolicy');
  expect(policies.length).toBeGreaterThan(0);
  for (const { spec } of policies) {
    const { matchConstraints } = spec as { matchConstraints: { resourceRules: object[] } };
    expect(matchConstraints).toMatchObject({
      matchPolicy: 'Equivalent',
      namespaceSelector: {},
      objectSelector: {},
      resourceRules: matchConstraints.resourceRules.map(() => ({ scope: '*' })),
    });
  }
});

it("the chart's versions are the program's", () => {
  const chart = parse(readFileSync(join(CHART, 'Chart.yaml'), 'utf8')) as { version: string; appVersion: string };
  expect([chart.version, chart.appVersion]).toEqual([VERSION, VERSION]);
  expect(container.image).toMatch(new RegExp(`:${VERSION}$`));
});

it("no registry can claim the manifest's image: none can have a name below .invalid (RFC 2606)", () => {
  const [, registry] = /^([^/]+)\//.exec(container.image) ?? [];
  expect(registry).toMatch(/\.invalid$/);
  expect(readFileSync(join(ROOT, 'docs/install.md'), 'utf8')).toContain(`kind load docker-image ${container.image}`);
  // One that was loaded onto the node is taken, without asking anybody.
  expect(container.imagePullPolicy).toBe('IfNotPresent');
});

it('the base images stand in FROM, where Dependabot finds them', () => {
  expect(baseImagesOf().map((image) => image.replace(/@sha256:[0-9a-f]{64}$/, ''))).toEqual([
    'docker.io/library/node:26-trixie-slim',
    'gcr.io/distroless/nodejs26-debian13:nonroot',
  ]);
  expect(readFileSync(join(ROOT, 'Dockerfile'), 'utf8')).not.toMatch(/^ARG \w+=.*@sha256:/m);
});

it('base images without a digest are found, so that no release is built on them', () => {
  const digest = `sha256:${'0a'.repeat(32)}`;
  const text = [
    'FROM --platform=$BUILDPLATFORM docker.io/library/node:26 AS build',
    `FROM gcr.io/runtime:nonroot@${digest} AS runtime`,
    'FROM runtime AS compile',
    'FROM gcr.io/other@sha256:0a',
  ].join('\n');
  expect(unpinnedBaseImages(text)).toEqual(['docker.io/library/node:26', 'gcr.io/other@sha256:0a']);
});

it('one Node.js is in use everywhere: images, executables, tests and workflows', () => {
  const { devDependencies } = JSON.parse(readFileSync(join(ROOT, 'package.json'), 'utf8')) as {
    devDependencies: Record<string, string>;
  };
  expect(lockedNode()).toBe(devDependencies.node);
  const [major] = lockedNode().split('.');
  const named = ['Dockerfile', 'action.yml', ...globSync('.github/workflows/*', { cwd: ROOT })].flatMap((file) => [
    ...readFileSync(join(ROOT, file), 'utf8').matchAll(/(?:library\/node:|distroless\/nodejs|node-version: ")(\d+)/g),
  ]);
  expect(named.length).toBeGreaterThan(4);
  expect(new Set(named.map(([, version]) => version))).toEqual(new Set([major]));
});

it('the Node.js of executables is locked with the sums of its packages', () => {
  const lock = JSON.parse(readFileSync(join(ROOT, 'scripts/release/node/package-lock.json'), 'utf8')) as {
    packages: Record<string, { integrity?: string }>;
  };
  const packages = Object.entries(lock.packages).filter(([path]) => path !== '');
  expect(packages.map(([path]) => path)).toEqual(
    expect.arrayContaining(TARGETS.map(({ nodeArch }) => `node_modules/node-linux-${nodeArch}`)),
  );
  for (const [, { integrity }] of packages) expect(integrity).toMatch(/^sha512-/);
});

it("the Deployment's arguments are ones that the program knows", async () => {
  const { stdout } = await run('serve', '--help');
  const known = new Set([...stdout.matchAll(/^ +(?:-\w, )?(--[a-z-]+)/gm)].map(([, name]) => name));
  const given = container.args.slice(1).map((arg) => arg.split('=')[0]);
  expect(given.filter((name) => !known.has(name))).toEqual([]);
});

it('the pods get more time to end than the program takes', () => {
  const CLOSING_SECONDS = 5;
  const { terminationGracePeriodSeconds } = deployment.spec.template.spec;
  expect(terminationGracePeriodSeconds).toBeGreaterThan(Number(option('shutdown-delay')) + CLOSING_SECONDS);
});

it('a replica on a node that is gone is replaced soon, and not before a node that is back has had the time to be Ready', () => {
  /** Measured on real nodes: test/real-node/measure/results.md. */
  const READY_AGAIN_SECONDS = 14;
  const tolerations = deployment.spec.template.spec.tolerations as { tolerationSeconds?: number }[];
  const seconds = tolerations.flatMap(({ tolerationSeconds }) => tolerationSeconds ?? []);
  expect(seconds).toHaveLength(2);
  for (const each of seconds) {
    expect(each).toBeGreaterThan(READY_AGAIN_SECONDS);
    expect(each).toBeLessThanOrEqual(30);
  }
});

it("V8's heap leaves 100 MiB of the memory limit for what is outside of it", () => {
  const [, limit] = /^(\d+)Mi$/.exec(container.resources.limits.memory) ?? [];
  const flags = container.env.find(({ name }) => name === 'NODE_OPTIONS')?.value ?? '';
  const script = 'process.stdout.write(String(v8.getHeapStatistics().heap_size_limit / 2 ** 20))';
  const heap = execFileSync(process.execPath, ['-e', script], { encoding: 'utf8', env: { NODE_OPTIONS: flags } });
  expect(Number(limit) - Number(heap)).toBeGreaterThanOrEqual(100);
});

it.each([
  {
    what: 'webhook configurations',
    kinds: ['MutatingWebhookConfiguration', 'ValidatingWebhookConfiguration'],
    why: 'the leader owns them: applied again, they would lose the caBundle',
  },
  {
    what: 'policies',
    kinds: ['TaintPolicy', 'TolerationPolicy'],
    why: 'one kubectl apply cannot create them together with their definitions',
  },
  { what: 'Secrets', kinds: ['Secret'], why: 'certificates are issued in the cluster' },
])('install.yaml has no $what: $why', ({ kinds }) => {
  expect(objects.filter(({ kind }) => kinds.includes(kind))).toEqual([]);
});
