import { writeFileSync } from 'node:fs';
import { parseArgs } from 'node:util';
import { deployedEnvironment } from '../test/control-plane/as-deployed.ts';
import { launchServe } from '../test/control-plane/serve-process.ts';
import { createWorkspace } from '../test/control-plane/workspace.ts';
import { HOSTILE_BODIES } from '../test/unit/server/hostile-bodies.ts';
import { BUNDLE, buildBundle } from './contenders.ts';
import { type Measured, measure } from './endpoint/load.ts';
import { requestBytes, writeRequest } from './endpoint/request-file.ts';
import { type Expected, REVIEW_CASES } from './endpoint/reviews.ts';
import { hostilePolicies } from './hostile-policies.ts';
import { printHead, printRow } from './markdown-table.ts';
import { median } from './statistics.ts';

/**
 * How long ordinary reviews take while one client sends a review that is made to take long, again and again, and without that client. The bundle
 * as deployed, with 200 hostile policies. Rounds are interleaved. Prints a Markdown table. Linux only.
 *
 *     npx node bench/hostile-neighbours.ts [--rounds N] [--seconds N]
 */
const POLICIES = 200;
const CONNECTIONS = 8;
const START_TIMEOUT_MS = 30_000;
/** Those that take longest, and what they are answered. */
const BODIES: readonly { readonly what: string; readonly expected: Expected }[] = [
  { what: 'one of 4,800 taints is removed (/validate)', expected: { allowed: true, patched: false } },
  { what: 'a node registers with 9,600 taints (/mutate)', expected: { allowed: true, patched: true } },
];

const { values: flags } = parseArgs({
  options: { rounds: { type: 'string', default: '5' }, seconds: { type: 'string', default: '2' } },
});
const seconds = Number(flags.seconds);

buildBundle();
const workspace = createWorkspace('bench');
const policies = workspace.write(
  'policies.yaml',
  hostilePolicies(POLICIES)
    .map(({ kind, name, spec }) =>
      JSON.stringify({ apiVersion: 'taintkeeper.dev/v1alpha1', kind, metadata: { name }, spec }),
    )
    .join('\n---\n'),
);
const certDir = workspace.path('certs');
await using server = await launchServe(
  'neighbours',
  ['--port', '0', '--admin-port', '0', '--cert-dir', certDir, '--policies', policies],
  { workspace: createWorkspace('serve'), env: deployedEnvironment(), program: BUNDLE },
);
const { port } = await server.listening(START_TIMEOUT_MS);

const ordinary = REVIEW_CASES.find(({ what }) => what === 'DaemonSet CREATE, left alone');
if (!ordinary) throw new Error('there is no ordinary review');
const ordinaryFile = workspace.path('ordinary');
writeRequest(ordinaryFile, ordinary);
const ask = (requestFile: string, connections: number, expected: Expected) =>
  measure({ port, pid: server.pid, caFile: `${certDir}/ca.crt`, requestFile, expected, connections, seconds });

const rows = [undefined, ...BODIES].map((body) => ({ body, ordinary: [] as Measured[], hostile: [] as Measured[] }));
for (const { what } of BODIES) {
  const body = HOSTILE_BODIES.find((found) => found.what === what);
  if (!body) throw new Error(`there is no body ${what}`);
  writeFileSync(fileOf(what), requestBytes(body.path, body.body()));
}
// Until V8 has compiled what runs often.
await ask(ordinaryFile, CONNECTIONS, ordinary.expected);
for (let round = 0; round < Number(flags.rounds); round++) {
  for (const row of rows) {
    const [measured, hostile] = await Promise.all([
      ask(ordinaryFile, CONNECTIONS, ordinary.expected),
      row.body && ask(fileOf(row.body.what), 1, row.body.expected),
    ]);
    row.ordinary.push(measured);
    if (hostile) row.hostile.push(hostile);
  }
}

printHead('the other client sends', 'of those a second', 'ordinary a second', 'p50 ms', 'p99 ms');
for (const { body, ordinary, hostile } of rows) {
  const of = (field: keyof Measured, samples = ordinary) => median(samples.map((sample) => sample[field]));
  printRow(
    body?.what ?? 'nothing',
    body ? of('requestsPerSecond', hostile).toFixed(1) : '',
    of('requestsPerSecond').toFixed(0),
    of('p50').toFixed(2),
    of('p99').toFixed(1),
  );
}

function fileOf(what: string): string {
  return workspace.path(what.replaceAll(/\W+/g, '-'));
}
