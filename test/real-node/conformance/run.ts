import { loadavg } from 'node:os';
import { parseArgs } from 'node:util';
import { buildModules } from '../../control-plane/build.ts';
import { CONFORMANCE, obstacleToConformance } from '../../control-plane/conformance.ts';
import { lockedVersion } from '../../control-plane/go-modules.ts';
import { exitFor, provideOrExit } from '../../control-plane/provide-or-exit.ts';
import { provideImages } from '../images.ts';
import { SANDBOX_IMAGE } from '../node-files.ts';
import { obstacleToRealNode } from '../obstacle.ts';
import { markControlPlane, productPods } from '../product.ts';
import { provideRealNode } from '../provide.ts';
import { type RealCluster, startRealCluster } from '../real-cluster.ts';
import { provideTestImages, type TestImages } from './images.ts';
import { conformancePage } from './page.ts';
import { compareRuns, differs, failsEverywhere, type SpecResult } from './results.ts';
import { runSpecs } from './run-specs.ts';
import { checkReplicas, SETTINGS, type Setting } from './settings.ts';
import { FAIL_ON_THESE_NODES, PAGES, SETS, type SetName } from './specs.ts';

/**
 * Runs Kubernetes' own end-to-end tests on three real nodes, without taintkeeper and with it, and compares the outcome spec by spec. Fails
 * when one spec differs, or fails with every setting and is not in specs.ts. Prints a page beside this file (PAGES in specs.ts). Linux only, as root.
 *
 *     npm run test:conformance                                   all settings, with the specs that taintkeeper could affect
 *     npm run test:conformance -- without strict [--focus TEXT]  these settings; only the specs whose names match
 *     npm run test:conformance -- --set conformance              the specs that every certified cluster has to pass
 */
const { values: flags, positionals } = parseArgs({
  allowPositionals: true,
  options: { focus: { type: 'string', multiple: true }, set: { type: 'string', default: 'affected' } },
});
const chosen = SETTINGS.filter(({ name }) => positionals.length === 0 || positionals.includes(name));
const unknown = positionals.filter((name) => !SETTINGS.some((setting) => setting.name === name));
if (unknown.length > 0)
  exitFor(`no setting ${unknown.join(', ')}: there are ${SETTINGS.map(({ name }) => name).join(', ')}`);

if (!isSet(flags.set)) exitFor(`no set ${flags.set}: there are ${Object.keys(SETS).join(', ')}`);
const focus = flags.focus ?? SETS[flags.set];

const report = (line: string) => process.stderr.write(`${line}\n`);
await provideOrExit();
await provideRealNode(report);
await buildModules(CONFORMANCE, report);
const obstacle = obstacleToRealNode() ?? obstacleToConformance();
if (obstacle) exitFor(obstacle);

// Once: all settings are to have the same build, whatever is edited meanwhile.
const [, productImage = ''] = provideImages(report);
const images = provideTestImages();
const runs: Run[] = [];
let ended = true;
for (const setting of chosen) {
  try {
    runs.push(await runWith(setting, images));
  } catch (error) {
    ended = false;
    runs.push({ results: [], requests: '' });
    report(`${setting.name}: ${error instanceof Error ? error.stack : error}`);
  }
}
const specs = compareRuns(runs.map(({ results }) => results));
const columns = chosen.map(({ what }, index) => ({ heading: what, requests: runs[index]?.requests ?? '' }));
const command = ['npm run -s test:conformance', ...(process.argv.length > 2 ? ['--'] : []), ...process.argv.slice(2)];
process.stdout.write(
  conformancePage(
    `${command.join(' ')} > test/real-node/conformance/${PAGES[flags.set]}`,
    lockedVersion(CONFORMANCE[0], 'e2e.test').slice(1),
    new Date().toISOString().slice(0, 10),
    columns,
    specs,
  ),
);
const different = specs.filter(differs);
for (const { group, name, states } of different) report(`differs: ${group} ${name}: ${states.join(', ')}`);
const unexpected = specs.filter(
  (spec) => failsEverywhere(spec) && !FAIL_ON_THESE_NODES.some(({ pattern }) => pattern.test(spec.name)),
);
for (const { group, name } of unexpected) report(`fails everywhere: ${group} ${name}`);
report(
  `${specs.length} specs, ${different.length} with another outcome, ${unexpected.length} that fail everywhere unexpectedly`,
);
process.exit(ended && specs.length > 0 && different.length + unexpected.length === 0 ? 0 : 1);

function isSet(name: string): name is SetName {
  return Object.hasOwn(SETS, name);
}

interface Run {
  readonly results: readonly SpecResult[];
  /** What taintkeeper was asked meanwhile; empty without it. */
  readonly requests: string;
}

async function runWith(setting: Setting, { archives, aliases }: TestImages): Promise<Run> {
  await using cluster = await startRealCluster({
    nodes: 3,
    productImage,
    moreImages: archives,
    imageAliases: aliases,
  });
  await prepareNodes(cluster);
  await setting.prepare(cluster);
  const replicas = setting.installs ? await productPods(cluster) : [];
  const started = performance.now();
  const results = await runSpecs(cluster, focus);
  const minutes = Math.round((performance.now() - started) / 60_000);
  const passed = results.filter(({ state }) => state === 'passed').length;
  report(`${setting.name}: ${passed} of ${results.length} passed in ${minutes} min, load ${loadavg()[0]?.toFixed(1)}`);
  for (const { group, name, state, message } of results) {
    if (state !== 'passed') report(`  ${state}: ${group} ${name}: ${message.split('\n').slice(0, 4).join(' ')}`);
  }
  return { results, requests: setting.installs ? await checkReplicas(cluster, replicas, setting.isCalled) : '' };
}

/**
 * The first node becomes a control plane. The other nodes get a static pod by whose name Kubernetes' tests recognize
 * system daemons: without it, they wait for a minute before each test of taints.
 */
async function prepareNodes(cluster: RealCluster): Promise<void> {
  await markControlPlane(cluster, 'n1');
  for (const node of cluster.nodes.slice(1)) {
    node.addStaticPod({
      apiVersion: 'v1',
      kind: 'Pod',
      metadata: { name: 'kube-proxy-fluentd-elasticsearch-node-problem-detector', namespace: 'kube-system' },
      spec: { containers: [{ name: 'sleep', image: SANDBOX_IMAGE }] },
    });
  }
}
