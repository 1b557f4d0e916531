import { equal, match, ok } from 'node:assert/strict';
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import fc from 'fast-check';
import { main } from '../../src/cli/main.ts';
import { REVIEWS } from './admission.ts';
import { hostileText } from './hostile.ts';
import { mutatedJson, mutatedText } from './mutated.ts';
import { POLICY_TEXTS } from './policies.ts';
import { printable } from './printable.ts';
import { CONFIGURATIONS } from './talos.ts';
import { type FuzzTarget, target } from './target.ts';

/** Each input has a folder of its own, so that the process needs no clearing up in between. */
const FOLDER = mkdtempSync(join(tmpdir(), 'taintkeeper-fuzz-'));
process.once('exit', () => rmSync(FOLDER, { recursive: true, force: true }));
const FILE = join(FOLDER, 'input.yaml');

const OBJECTS = REVIEWS.flatMap((review) => {
  const { request } = review as { request: { object: unknown } };
  return [review, request.object, { apiVersion: 'v1', kind: 'List', items: [request.object, request.object] }];
});

/** Commands that read files, and end. */
const COMMANDS = [
  ['review', FILE],
  ['review', FILE, '--patched'],
  ['review', '--old', FILE, '--new', FILE],
  ['review', '--policies', FILE, FILE],
  ['coverage', FILE],
  ['coverage', 'fix', FILE],
  ['coverage', 'migrate', FILE],
  ['talos', 'lint', FILE],
  ['talos', 'policies', FILE],
  ['talos', 'drift', FILE, '--nodes', FILE],
] as const;

/** Options of theirs, and what is none; a value may follow, or be missing. */
const option = fc.oneof(
  fc.constantFrom(
    ...['--user', '--group', '--namespace', '-n', '--daemonset', '--node', '--taint', '--gaps'],
    ...['--talos-version', '--role', '--since', '--mode', '--node-selector', '-l', '--selector', '--help'],
    ...['--old', '--new', '--policies', '-o', 'json', 'yaml', 'worker', '1.13', 'pool=gpu', 'pool in (a,b)', '--'],
  ),
  // Standard input would be waited for.
  hostileText.filter((text) => text !== '-' && !text.includes('\0')),
);

const input = fc.oneof(
  mutatedJson(OBJECTS).map((value) => JSON.stringify(value)),
  mutatedText(POLICY_TEXTS),
  mutatedText(CONFIGURATIONS),
);

/** The command line as a whole, files and arguments. */
export const COMMAND_LINES: readonly FuzzTarget[] = [
  target(
    'a command with files of any kind',
    1,
    fc.record({ command: fc.constantFrom(...COMMANDS), input, options: fc.array(option, { maxLength: 3 }) }),
    async ({ command, input, options }) => {
      writeFileSync(FILE, input);
      await ends([...command, ...options]);
    },
  ),
  target(
    'options that are refused',
    1,
    fc.record({
      // With a port that is none, no server starts.
      command: fc.constantFrom(
        ['serve', '--port', 'x'],
        ['dashboard', '--port', 'x'],
        ['doctor', '--nothing'],
        ['none'],
      ),
      options: fc.array(fc.oneof(option, hostileText), { maxLength: 4 }),
    }),
    async ({ command, options }) => ends([...command, ...options.filter((text) => text !== '--')]),
  ),
];

/** Runs a command line: it ends as documented, and bad input with a message, not with a stack. */
async function ends(args: readonly string[]): Promise<void> {
  const { code, stdout, stderr } = await run(args);
  ok([0, 1, 2].includes(code), `exit code ${code}: ${stderr}`);
  ok(!/\n {4}at /.test(stderr), stderr);
  if (code === 2) {
    // What it finds in the other files, it says all the same.
    if (args[1] !== 'lint') equal(stdout, '');
    match(stderr, /^(taintkeeper|error): /);
  }
  const text = isData(args) ? stderr : stdout + stderr;
  printable(text.replaceAll('\n', ''), args.join(' '));
}

/** JSON and YAML carry what they were given, escaped in their own ways. */
function isData(args: readonly string[]): boolean {
  return args.some((text) => text !== FILE && /json|yaml|--patched|policies/.test(text));
}

async function run(args: readonly string[]) {
  const printed = { stdout: '', stderr: '' };
  const originals = { stdout: process.stdout.write, stderr: process.stderr.write };
  for (const stream of ['stdout', 'stderr'] as const) {
    process[stream].write = (chunk: string | Uint8Array) => {
      printed[stream] += chunk;
      return true;
    };
  }
  try {
    return { code: await main(args), ...printed };
  } finally {
    for (const stream of ['stdout', 'stderr'] as const) process[stream].write = originals[stream];
  }
}
