import { globSync } from 'node:fs';
import { join, normalize } from 'node:path';
import { askedVersion, type Need, OTHER_VERSIONS, type OtherVersion } from '../control-plane/kubernetes.ts';
import { PLACE_NAMES } from '../places/places.ts';

/**
 * What runs when. `core` is `npm test`: an answer while somebody works. `all` runs before each merge; `rest` is `all` without `core`, which
 * CI runs after it. `nightly` is what `all` leaves out.
 */
export const TIERS = ['core', 'all', 'rest', 'nightly'] as const;
export type Tier = (typeof TIERS)[number];

const ROOT = join(import.meta.dirname, '..', '..');

const files = (...names: readonly string[]) => names.map((name) => `test/e2e/${name}.test.ts`);

/** vitest takes patterns for what is left out, and parts of paths for what is asked for. */
const filesLike = (patterns: readonly string[]) => globSync(patterns, { cwd: ROOT });

/** Unit tests that draw hundreds of cases, or fill memory or the table of connections: a third of the time of all. */
const SLOW_UNIT = [
  'test/unit/**/*.property.test.ts',
  'test/unit/cluster/objects/kept-objects.test.ts',
  'test/unit/cluster/watch/watch-cache-memory.test.ts',
  'test/unit/server/many-connections.test.ts',
];

/** The end-to-end tests of `core`: one for each thing that must never fail. */
export const CORE = files(
  'cluster-install',
  'node-taints',
  'daemon-set-tolerations',
  'registration',
  'leader-election',
  'cluster-certificates',
  'policy-validation',
  'doctor',
);

/** They install what the project publishes, with npm, and take as long as all other tests of the tools. */
const INSTALLED_TOOLS = ['action', 'npm-package'].map((name) => `test/tools/${name}.test.ts`);

/**
 * What waits for minutes, keeps a machine busy, is about the rig itself, or needs the history. Real nodes and places are projects of
 * their own.
 */
const ONLY_NIGHTLY = [
  ...files('faults', 'cluster-trust', 'drift-leader', 'karpenter*', 'restored-etcd', 'upgrade'),
  ...files('guarded-attack', 'killed-leader', 'late-certificates', 'leader-memory', 'lost-taint'),
  ...files('rig-shared', 'trust-prober'),
];

/** What draws its cases: every night others, and more of them. */
const DRAWN = files(
  'match-conditions',
  'native-nodes.property',
  'native-daemon-sets.property',
  'native-pods.property',
  'policy-validation',
  'crds',
);

/** What depends on the API server's version. */
const VERSION_MATTERS = files('crds', 'policy-validation', 'match-conditions*', 'native-*');

/** What has nothing to do with it: the rig itself, and the demo. */
const VERSION_IS_NOTHING = files('rig-shared', 'trust-prober', 'demo');

/** The vitest project of the tests on another version of Kubernetes. */
export const projectOf = (version: OtherVersion) => `e2e-${version}`;

/** The version of such a project; `undefined` for the others. */
export function otherVersionOf(project: string): OtherVersion | undefined {
  return OTHER_VERSIONS.find((version) => projectOf(version) === project);
}

/** The projects of `all` that need more than Node.js. */
const ALL_PROJECTS = ['tools', 'browser', 'e2e'];

/** Some of the tests, as vitest is asked for them. */
export interface Part {
  readonly projects: string | readonly string[];
  readonly files?: readonly string[];
  readonly exclude?: readonly string[];
}

/** `alone` needs only Node.js, and runs before anything is built. */
export interface Parts {
  readonly alone?: Part | undefined;
  readonly others: readonly Part[];
}

/**
 * What a tier runs.
 * @param filter parts of paths, as vitest takes them: files that are asked for run whatever tier they are of
 * @param projects those that are asked for
 */
export function partsOf(tier: Tier, filter: readonly string[] = [], projects?: string | readonly string[]): Parts {
  if (projects) return { others: [{ projects, files: filter, exclude: filter.length > 0 ? [] : ONLY_NIGHTLY }] };
  const unit: Part = { projects: 'unit', files: filter };
  if (filter.length > 0) {
    const others = { projects: [...ALL_PROJECTS, 'real-node', 'places'], files: filter };
    return {
      alone: areAsked(['test/unit/**/*.test.ts'], filter) ? unit : undefined,
      others: areAsked(['test/{tools,browser,e2e,real-node,places}/**/*.test.ts'], filter) ? [others] : [],
    };
  }
  switch (tier) {
    case 'core':
      return {
        alone: { ...unit, exclude: SLOW_UNIT },
        others: [
          { projects: 'tools', exclude: [...ONLY_NIGHTLY, ...INSTALLED_TOOLS] },
          { projects: 'e2e', files: CORE },
        ],
      };
    case 'all':
      return { alone: unit, others: [{ projects: ALL_PROJECTS, exclude: ONLY_NIGHTLY }] };
    case 'rest':
      return {
        alone: { ...unit, files: filesLike(SLOW_UNIT) },
        others: [
          { projects: 'tools', files: INSTALLED_TOOLS },
          { projects: ['browser', 'e2e'], exclude: [...ONLY_NIGHTLY, ...CORE] },
        ],
      };
    case 'nightly':
      return {
        alone: unit,
        others: [
          { projects: 'e2e', files: filesLike([...ONLY_NIGHTLY, ...DRAWN]) },
          { projects: 'real-node' },
          { projects: 'places' },
          ...OTHER_VERSIONS.map((version) => ({ projects: projectOf(version) })),
        ],
      };
  }
}

/** What has to be built or installed for a tier, or for the files and projects that are asked for. */
export function needsOf(tier: Tier, filter: readonly string[] = [], projects?: string | readonly string[]): Need {
  const isAsked = filter.length > 0 || projects !== undefined;
  if (tier === 'core' && !isAsked) {
    return { components: false, browser: false, karpenter: false, realNodes: false, places: [], versions: [] };
  }
  const nightly = tier === 'nightly';
  const asked = [askedVersion(), ...[projects ?? []].flat().map(otherVersionOf)];
  return {
    components: true,
    browser: true,
    karpenter: nightly || filter.some((file) => file.includes('karpenter')),
    realNodes: nightly || (isAsked && asksForRealNodes(filter, projects)),
    places: PLACE_NAMES.filter((place) => nightly || (isAsked && asksForPlace(place, filter, projects))),
    versions: nightly ? OTHER_VERSIONS : asked.filter((version) => version !== undefined),
  };
}

const REAL_NODES = 'test/real-node/**/*.test.ts';
const filesOfPlace = (place: string) => `test/places/${place}/**/*.test.ts`;

/** What the other tiers have, for the last line of a run of `core`; nothing after the others. */
export function contentsOf(tier: Tier): string | undefined {
  if (tier !== 'core') return undefined;
  const slow = filesLike(ONLY_NIGHTLY);
  const others = filesLike(['test/{e2e,browser}/**/*.test.ts']).filter(
    (file) => !CORE.includes(file) && !slow.includes(file),
  );
  const left = others.length + INSTALLED_TOOLS.length + filesLike(SLOW_UNIT).length;
  const nightly = slow.length + filesLike([REAL_NODES, filesOfPlace('*')]).length;
  return [
    `npm run test:all: ${left} more files (the other end-to-end tests, the page in a browser, many random cases)`,
    `npm run test:nightly: ${nightly} more (faults, upgrades, real nodes, kubeadm, Talos), and Kubernetes ${OTHER_VERSIONS.join(', ')}`,
  ].join('; ');
}

/**
 * What runs on another version: what depends on it, or nearly everything. TAINTKEEPER_TEST_ALL says where all runs: `1` for every version,
 * or one of them.
 */
export function onOtherKubernetes(version: OtherVersion): { include: string[]; exclude?: string[] } {
  if (!['1', version].includes(process.env.TAINTKEEPER_TEST_ALL ?? '')) return { include: VERSION_MATTERS };
  return { include: files('*'), exclude: VERSION_IS_NOTHING };
}

/**
 * Whether tests on real nodes are asked for: the programs and the image that they take are built for nobody else.
 * @param filter parts of paths, as vitest takes them, with or without a line; none: everything
 */
export function asksForRealNodes(
  filter: readonly string[],
  projects: string | readonly string[] = 'real-node',
): boolean {
  return isProjectAsked('real-node', projects) && (filter.length === 0 || areAsked([REAL_NODES], filter));
}

/** The same of one of test/places. */
export function asksForPlace(
  place: string,
  filter: readonly string[],
  projects: string | readonly string[] = 'places',
): boolean {
  const its = filesOfPlace(place);
  return isProjectAsked('places', projects) && (filter.length === 0 || areAsked([its], filter));
}

function isProjectAsked(name: string, projects: string | readonly string[]): boolean {
  return [projects].flat().some((project) => project.includes(name) || /[*!]/.test(project));
}

/** Whether one of the files has one of these parts of paths, as vitest looks for them: with or without a line, whatever the case. */
function areAsked(patterns: readonly string[], filter: readonly string[]): boolean {
  const parts = filter.map((part) => normalize(part.replace(/:\d+$/, '')).toLowerCase());
  return filesLike(patterns).some((file) => parts.some((part) => join(ROOT, file).toLowerCase().includes(part)));
}
