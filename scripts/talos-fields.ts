// Writes src/talos/field-table.ts: the documents of Talos' machine configuration, version by version: which kinds and fields
// there are, of which types, what has gone and what is deprecated, and what Talos refuses to see side by side. All of it is read
// from Talos' own Go source (MPL-2.0: names are taken, no text of it), and the kubelet's configuration from that of Kubernetes.
// It is run by hand when there is a new version:
//
//   node scripts/talos-fields.ts v1.3.0 v1.3.7=DIRECTORY … v1.13.0 v1.13.9 v1.14.1 v1.15-ad8823176=DIRECTORY
//
// with all versions in their order; those that the table was made from stand in its first lines. A version alone is downloaded by
// Go, as the module github.com/siderolabs/talos/pkg/machinery. With a directory, its source is there: `pkg/machinery` of a clone
// of https://github.com/siderolabs/talos, for versions that the registry of modules does not serve. Of each minor version, name
// the first patch and the newest: what either has, the version has, for fields come with patches, too. The last version is taken
// for unreleased: nothing is said to have gone with it.

import { execFileSync } from 'node:child_process';
import { existsSync, readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { conflictsOf, conflictsOfWhole, controlPlaneKindsOf, namesakesOf } from './talos-conflicts.ts';
import { type Field, fieldsOfTypes, goFiles, kubeletFiles, plain, readPackages } from './talos-go-types.ts';
import { SUCCESSORS } from './talos-successors.ts';

const MODULE = 'github.com/siderolabs/talos/pkg/machinery';

/**
 * The versions of k8s.io/kubelet with which a minor version of Talos decodes the kubelet's configuration: those of its first patch and of its newest
 * (go.mod of github.com/siderolabs/talos), or the nearest one that the registry of modules serves.
 */
const KUBELET_VERSIONS: Readonly<Record<number, readonly string[]>> = {
  3: ['v0.26.0'],
  4: ['v0.27.1'],
  5: ['v0.28.0'],
  6: ['v0.29.0'],
  7: ['v0.30.0'],
  8: ['v0.31.1'],
  9: ['v0.32.0'],
  10: ['v0.33.0'],
  11: ['v0.34.0'],
  12: ['v0.35.0'],
  13: ['v0.35.3', 'v0.36.3'],
  14: ['v0.37.0'],
  15: ['v0.37.0'],
};

interface Life {
  /** Its types, each with the first version that has it. */
  types: { since: number; type: string }[];
  since: number;
  until: number;
  deprecated: number | undefined;
  successor: string | undefined;
}

const sources = process.argv.slice(2).map((argument) => {
  const [version = '', directory] = argument.split('=');
  return { version, minor: Number(/^v1\.(\d+)/.exec(version)?.[1]), directory };
});
const minors = sources.map(({ minor }) => minor);
const FIRST = minors[0] ?? NaN;
const LAST = minors.at(-1) ?? NaN;
if (
  minors.some((minor, index) => !(minor - (minors[index - 1] ?? minor) <= 1 && minor >= (minors[index - 1] ?? minor)))
) {
  throw new Error('expected versions in their order, none left out: v1.3.0 v1.4.0 …');
}

const lives = new Map<string, Life>();
const settings = new Map<string, Life>();
const conflicts = new Map<string, Life>();
const namesakes = new Map<string, Life>();
const controlPlaneKinds = new Map<string, Life>();

function record(into: Map<string, Life>, version: number, what: string, field?: Field): void {
  const life = into.get(what) ?? {
    types: [],
    since: version,
    until: version,
    deprecated: undefined,
    successor: undefined,
  };
  life.until = version;
  const last = life.types.at(-1);
  if (field && last?.since === version) last.type = field.type;
  else if (field && field.type !== last?.type) life.types.push({ since: version, type: field.type });
  if (field?.deprecated) {
    life.deprecated ??= version;
    life.successor = field.successor ?? life.successor;
  }
  into.set(what, life);
}

for (const { version, minor, directory } of sources) {
  const module = directory ?? download(MODULE, version);
  const files = goFiles(module);
  const packages = readPackages(files);
  for (const [path, field] of fieldsOfTypes(packages)) record(lives, minor, path, field);
  for (const kubelet of KUBELET_VERSIONS[minor] ?? []) {
    const types = readPackages(kubeletFiles((name) => download(`k8s.io/${name}`, kubelet)));
    for (const [path, { type }] of fieldsOfTypes(types)) record(settings, minor, path, plain(type));
  }
  const container = sourceOf(join(module, 'config', 'container', 'container.go'));
  for (const conflict of [...conflictsOf(files, packages), ...conflictsOfWhole(container)]) {
    record(conflicts, minor, conflict);
  }
  for (const pair of namesakesOf(files, packages)) record(namesakes, minor, pair);
  for (const kind of controlPlaneKindsOf(files, packages)) record(controlPlaneKinds, minor, kind);
}
for (const life of [lives, settings, conflicts, namesakes, controlPlaneKinds].flatMap((table) => [...table.values()])) {
  if (life.until === LAST - 1) life.until = LAST;
}

// What refuses anything that is there refuses what is not empty, too.
for (const [conflict, life] of conflicts) {
  const wider = conflicts.get(conflict.replace(/ full$/, ' set'));
  if (wider && wider !== life) life.until = Math.max(life.until, wider.until);
}

/** Empty for a file that this version does not have. */
function sourceOf(path: string): string {
  return existsSync(path) ? readFileSync(path, 'utf8') : '';
}

function download(module: string, version: string): string {
  const answer = execFileSync('go', ['mod', 'download', '-json', `${module}@${version}`], { encoding: 'utf8' });
  return (JSON.parse(answer) as { Dir: string }).Dir;
}

const parentOf = (path: string): string => path.slice(0, Math.max(path.lastIndexOf('.'), 0));
/** The kind, or the field beside it, that takes the place of a field: as we know, or as its source says. `-` is nothing at all. */
function successorOf(path: string, named: string | undefined): string | undefined {
  const known = SUCCESSORS[path];
  if (known !== undefined && known !== '-' && !lives.has(known) && !lives.has(`${parentOf(path)}.${known}`)) {
    throw new Error(`${path}: there is no ${known} to take its place`);
  }
  return known ?? (named !== undefined && lives.has(named) ? named : undefined);
}

// Deprecation is said once, of the whole; of its parts, where they have successors of their own.
for (const [path, life] of [...lives].sort(([a], [b]) => (a < b ? -1 : 1))) {
  life.successor = successorOf(path, life.successor);
  for (let above = parentOf(path); above !== ''; above = parentOf(above)) {
    const outer = lives.get(above);
    if (outer?.deprecated === undefined || outer.deprecated > (life.deprecated ?? LAST)) continue;
    const isOwn = life.successor !== undefined && life.successor !== outer.successor;
    life.deprecated = isOwn ? (life.deprecated ?? outer.deprecated) : undefined;
    break;
  }
}

const range = ({ since, until }: Life): string => `${since === FIRST ? '' : since}-${until === LAST ? '' : until}`;

function lines(table: ReadonlyMap<string, Life>, line: (what: string, life: Life) => string): string {
  return [...table]
    .sort(([a], [b]) => (a < b ? -1 : 1))
    .map(([what, life]) => line(what, life).trim())
    .join('\n');
}

const typesOf = ({ types }: Life): string =>
  types.map(({ since, type }, index) => (index === 0 ? type : `${since}:${type}`)).join(',');

const fieldLines = (table: ReadonlyMap<string, Life>): string =>
  lines(table, (path, life) =>
    [path, range(life), typesOf(life), ...(life.deprecated ? [`!${life.deprecated}`, life.successor ?? ''] : [])]
      .join(' ')
      .trim(),
  );
const versioned = (table: ReadonlyMap<string, Life>) => lines(table, (what, life) => `${range(life)} ${what}`);

writeFileSync(
  join(import.meta.dirname, '..', 'src', 'talos', 'field-table.ts'),
  `// Made by scripts/talos-fields.ts: change that, not this file.
// Sources: the Go types of ${MODULE} ${sources.map(({ version }) => version).join(', ')},
// and of k8s.io/kubelet ${[...new Set(Object.values(KUBELET_VERSIONS).flat())].join(', ')}.

/**
 * The fields of every document that Talos 1.${FIRST} to 1.${LAST} reads, one a line: path, versions (minor; \`-\` is all, an empty end "from the first" or
 * "to the last"), type, \`!minor\` since when it is deprecated, and what took its place (\`-\` is nothing at all). Paths begin with the document's kind,
 * or with v1alpha1 for the one without; \`*\` is any item of a list or any key of a mapping. Types are those of fieldsOfTypes in
 * scripts/talos-go-types.ts; after a comma, \`minor:type\` is that of a later version.
 */
export const FIELD_TABLE = \`
${fieldLines(lives)}
\`;

/** The fields of the kubelet's configuration, in the same form. The versions are those of the Talos that decodes it. */
export const KUBELET_TABLE = \`
${fieldLines(settings)}
\`;

/**
 * What a kind of document does not stand beside: versions, the kind, the path in the older shape, and what has to be there:
 * something (\`set\`), something that is neither empty nor zero (\`full\`), or \`true\`. Then, what of the document has to be so, too:
 * a name (\`name=NAME\`), or a field that says something.
 */
export const CONFLICT_TABLE = \`
${versioned(conflicts)}
\`;

/** Kinds that do not stand beside each other with one name: versions, and the two. */
export const NAMESAKE_TABLE = \`
${versioned(namesakes)}
\`;

/** Kinds that only control planes may have. */
export const CONTROL_PLANE_TABLE = \`
${versioned(controlPlaneKinds)}
\`;
`,
);
process.stdout.write(
  `${lives.size} fields, ${settings.size} of the kubelet, ${conflicts.size} conflicts, ${namesakes.size} namesakes, ${controlPlaneKinds.size} kinds for control planes\n`,
);
