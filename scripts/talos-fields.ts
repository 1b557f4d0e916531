// Writes src/talos/field-table.ts: which fields the documents of a machine configuration have, in which versions of Talos.
// Needs Go and the network, and is run by hand when there is a new version:
//
//   node scripts/talos-fields.ts config.schema.json
//
// Up to 1.13 the fields are read from the Go types of Talos' own module (MPL-2.0: names of fields are taken, no text of it).
// Of what comes after, whose module is not published here, the JSON Schema tells (siderolabs/talos,
// pkg/machinery/config/schemas/config.schema.json), which leaves deprecated fields out.

import { execFileSync } from 'node:child_process';
import { readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { type Field, fieldsOfTypes, PLAIN } from './talos-go-types.ts';
import { fieldsOfSchema } from './talos-schema.ts';
import { SUCCESSORS } from './talos-successors.ts';

const MODULE = 'github.com/siderolabs/talos/pkg/machinery';
const FIRST = 3;
const LAST_OF_MODULE = 13;
const LAST = 15;

interface Life {
  since: number;
  until: number;
  deprecated: number | undefined;
  successor: string | undefined;
  hidden: boolean;
}

const lives = new Map<string, Life>();
const parentOf = (path: string): string => path.slice(0, Math.max(path.lastIndexOf('.'), 0));

function record(version: number, fields: ReadonlyMap<string, Field>): void {
  for (const [path, { deprecated, successor, hidden }] of fields) {
    const life = lives.get(path) ?? {
      since: version,
      until: version,
      deprecated: undefined,
      successor: undefined,
      hidden,
    };
    life.until = version;
    life.hidden = hidden;
    if (deprecated) {
      life.deprecated ??= version;
      life.successor = successor ?? life.successor;
    }
    lives.set(path, life);
  }
}

for (let minor = FIRST; minor <= LAST_OF_MODULE; minor += 1) {
  const answer = execFileSync('go', ['mod', 'download', '-json', `${MODULE}@v1.${minor}.0`], { encoding: 'utf8' });
  record(minor, fieldsOfTypes((JSON.parse(answer) as { Dir: string }).Dir));
}
const schema = fieldsOfSchema(JSON.parse(readFileSync(process.argv[2] ?? '', 'utf8')));
for (const path of [...schema.keys()]) {
  // The schema leaves the end off the names of two kinds: Talos 1.13 does not, of the one that it has.
  const name = path.replace(/^(KubeSpanEndpoints|UnattendedInstall)\b/, '$1Config');
  if (name !== path) schema.set(name, PLAIN);
  // It takes some lists for their items.
  const item = `${parentOf(path)}.*${path.slice(parentOf(path).length)}`;
  if (lives.has(item)) {
    schema.set(item, PLAIN);
    schema.delete(path);
  }
}
for (const version of [LAST_OF_MODULE + 1, LAST]) record(version, schema);
// What is in it was free, as far as this script could see, until a version said what may be: types of other modules.
const aboveOf = (path: string): string => parentOf(path).replace(/(\.\*)+$/, '');
const firstInside = new Map<string, number>();
for (const [path, { since }] of lives) {
  firstInside.set(aboveOf(path), Math.min(firstInside.get(aboveOf(path)) ?? LAST, since));
}
for (const [path, life] of [...lives].sort(([a], [b]) => (a < b ? -1 : 1))) {
  const above = lives.get(aboveOf(path));
  if (above && firstInside.get(aboveOf(path)) === life.since) life.since = Math.min(life.since, above.since);
}
// What the schema leaves out is still read, as long as its document is there.
for (const [path, life] of lives) {
  const document = path.split('.')[0] ?? '';
  if (life.until !== LAST_OF_MODULE || lives.get(document)?.until === LAST_OF_MODULE) continue;
  life.until = LAST;
  if (!life.hidden) life.deprecated ??= LAST_OF_MODULE + 1;
}
// Deprecation is said once, of the whole.
for (const [path, life] of [...lives].sort(([a], [b]) => (a < b ? 1 : -1))) {
  for (let above = parentOf(path); above !== ''; above = parentOf(above)) {
    if ((lives.get(above)?.deprecated ?? Infinity) <= (life.deprecated ?? Infinity)) life.deprecated = undefined;
  }
}

const lines = [...lives]
  .sort(([a], [b]) => (a < b ? -1 : 1))
  .map(([path, { since, until, deprecated, successor }]) => {
    const range = `${since === FIRST ? '' : since}-${until === LAST ? '' : until}`;
    return [
      path,
      range,
      ...(deprecated ? [`!${deprecated}`] : []),
      ...(deprecated ? [successorOf(path, successor)] : []),
    ]
      .join(' ')
      .trim()
      .replace(/ -$/, '');
  });

function successorOf(path: string, named: string | undefined): string {
  return SUCCESSORS[path] ?? (named !== undefined && lives.has(named) ? named : '');
}

writeFileSync(
  join(import.meta.dirname, '..', 'src', 'talos', 'field-table.ts'),
  `// Made by scripts/talos-fields.ts: change that, not this file.

/**
 * The fields of every document that Talos 1.${FIRST} to 1.${LAST} reads, one a line: path, versions (minor; empty is "from the first" or
 * "to the last"), \`!minor\` since when it is deprecated, and what took its place. Paths begin with the document's kind, or with
 * v1alpha1 for the one without; \`*\` is any item of a list or any key of a mapping. What stands below a field without fields of
 * its own is free. Sources: the Go types of ${MODULE} v1.${FIRST}.0 to v1.${LAST_OF_MODULE}.0, and after
 * that the JSON Schema of 1.14, which leaves out what is deprecated.
 */
export const FIELD_TABLE = \`
${lines.join('\n')}
\`;
`,
);
process.stdout.write(`${lines.length} fields\n`);
