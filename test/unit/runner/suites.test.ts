import { globSync } from 'node:fs';
import { join } from 'node:path';
import { expect, it } from 'vitest';
import {
  asksForPlace,
  asksForRealNodes,
  CORE,
  contentsOf,
  needsOf,
  type Part,
  partsOf,
  type Tier,
} from '../../runner/suites.ts';

it.each<{ filter: string[]; project?: string | string[]; asked: boolean }>([
  { filter: [], asked: true },
  { filter: ['test/e2e/explain.test.ts'], asked: false },
  { filter: ['test/e2e/explain.test.ts', 'two-nodes'], asked: true },
  { filter: ['./test/real-node/two-nodes.test.ts:12'], asked: true },
  { filter: [join(import.meta.dirname, '..', '..', 'real-node')], asked: true },
  { filter: ['test/tools'], asked: false },
  { filter: [], project: 'e2e', asked: false },
  { filter: [], project: ['e2e', 'real-node'], asked: true },
  { filter: [], project: '!unit', asked: true },
])('of $filter in $project', ({ filter, project, asked }) => {
  expect(asksForRealNodes(filter, project)).toBe(asked);
});

it.each<{ filter: string[]; project?: string; asked: boolean }>([
  { filter: [], project: 'places', asked: true },
  { filter: ['test/places/talos/'], project: 'places', asked: true },
  { filter: ['test/places/kubeadm/'], project: 'places', asked: false },
  { filter: ['test/places/talos/validate.test.ts'], asked: true },
  { filter: ['test/e2e/talos.test.ts'], asked: false },
  { filter: [], project: 'real-node', asked: false },
])('Talos is needed for $filter in $project: $asked', ({ filter, project, asked }) => {
  expect(asksForPlace('talos', filter, project)).toBe(asked);
});

const ROOT = join(import.meta.dirname, '..', '..', '..');
const PROJECTS = ['unit', 'e2e', 'tools', 'browser', 'real-node', 'places'] as const;

const allOf = (project: (typeof PROJECTS)[number]) => globSync(`test/${project}/**/*.test.ts`, { cwd: ROOT }).sort();

/** The files of a project that a tier runs on the newest Kubernetes: as vitest chooses them, which asks for parts of paths and leaves out patterns. */
function filesOf(project: (typeof PROJECTS)[number], tier: Tier): string[] {
  const hasThem = ({ projects }: Part) => [projects].flat().includes(project);
  const { alone, others } = partsOf(tier);
  return [...(alone ? [alone] : []), ...others]
    .filter(hasThem)
    .flatMap(({ files = [], exclude = [] }) => {
      const excluded = globSync(exclude, { cwd: ROOT });
      const isAsked = (file: string) => files.length === 0 || files.some((part) => file.includes(part));
      return allOf(project).filter((file) => isAsked(file) && !excluded.includes(file));
    })
    .sort();
}

it.each(PROJECTS)('core and rest are all of %s, and nothing of it runs twice', (project) => {
  expect([...filesOf(project, 'core'), ...filesOf(project, 'rest')].sort()).toEqual(filesOf(project, 'all'));
});

it.each(PROJECTS)('no test of %s is in no tier', (project) => {
  expect([...new Set([...filesOf(project, 'all'), ...filesOf(project, 'nightly')])].sort()).toEqual(allOf(project));
});

it('a project that is asked for has what the nightly run has only where a file is asked for, too', () => {
  const excluded = (filter: string[]) =>
    partsOf('core', filter, 'e2e').others.map(({ exclude }) => exclude?.length ?? 0);
  expect(excluded([])[0]).toBeGreaterThan(0);
  expect(excluded(['faults'])).toEqual([0]);
});

it('other shells than bash are for the nightly run', () => {
  const shells = 'test/tools/other-shells.test.ts';
  const tools = (tier: Tier) => partsOf(tier).others.filter(({ projects }) => [projects].flat().includes('tools'));
  for (const tier of ['core', 'all'] as const) expect(tools(tier)[0]?.exclude).toContain(shells);
  expect(tools('nightly')).toEqual([{ projects: 'tools', files: [shells] }]);
  expect(['all', 'nightly'].map((tier) => needsOf(tier as Tier).shells)).toEqual([false, true]);
});

it('the files of core are there', () => {
  expect(globSync(CORE, { cwd: ROOT })).toHaveLength(CORE.length);
});

it('a file that is asked for runs whatever tier it is of', () => {
  const { others } = partsOf('core', ['karpenter']);
  expect(others.map(({ files }) => files)).toEqual([['karpenter']]);
});

it.each([
  { asked: 'test/unit/runner', alone: true, others: 0 },
  { asked: './test/unit/leader.test.ts:12', alone: true, others: 0 },
  { asked: 'test/e2e/Karpenter', alone: false, others: 1 },
  { asked: 'leader', alone: true, others: 1 },
  { asked: 'no-such-file', alone: false, others: 0 },
])('of $asked only the part is run that has such files', ({ asked, ...expected }) => {
  const { alone, others } = partsOf('core', [asked]);
  expect({ alone: alone !== undefined, others: others.length }).toEqual(expected);
});

it.each<{ tier: Tier; filter?: string[]; project?: string; components: boolean; versions: number }>([
  { tier: 'core', components: false, versions: 0 },
  { tier: 'core', filter: ['backstop'], components: true, versions: 0 },
  { tier: 'core', project: 'e2e-1.37', components: true, versions: 1 },
  { tier: 'all', components: true, versions: 0 },
  { tier: 'nightly', components: true, versions: 4 },
])('$tier with $filter $project needs components: $components, $versions versions', (asked) => {
  const { components, versions } = needsOf(asked.tier, asked.filter, asked.project);
  expect({ components, versions: versions.length }).toEqual({ components: asked.components, versions: asked.versions });
});

it('the last line of core says what it leaves out', () => {
  expect(contentsOf('core')).toMatch(/^npm run test:all: \d+ more files \(.+\); npm run test:nightly: \d+ more .+$/);
  expect(contentsOf('rest')).toBeUndefined();
});
