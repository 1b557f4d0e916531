/**
 * Checks the words of the pages and of the messages: some are never right, because they name no actor or because the glossary in
 * docs/concepts.md has another term. `npm run lint` runs it.
 *
 * It reads Markdown except code, the alerts, and the string literals of the sources, of the tests and of the benchmarks, those of the page and of
 * the dashboard included. It does not read comments of sources, nor the changelog, which names what was removed. Some words have another sense in messages: only pages are checked for those.
 */
import { globSync, readFileSync } from 'node:fs';
import { join } from 'node:path';

const ROOT = join(import.meta.dirname, '..');

/** What to write instead, by the pattern of the words. */
const INSTEAD: readonly (readonly [RegExp, string])[] = [
  [/\b(whoever|whomever|somebody('s)?|someone('s)?|anybody('s)?)\b/i, 'the actor: a user, another writer, every user'],
  [/\bin vain\b/i, 'what fails'],
  [/\bas the case may be\b/i, 'the cases'],
  [/\b(mend|mends|mended|mending)\b/i, 'restore, repair or fix'],
  [/\b(put|puts|putting) right\b/i, 'repair'],
  [/\bowed\b/i, 'missing'],
  [/\b(contest|contests|contested)\b/i, 'conflict, or: another writer removes it repeatedly'],
  [/\b(intruder|intruders)\b/i, 'pod that does not tolerate the taint'],
  [/\b(hindrance|hindrances)\b/i, 'blocked by'],
  [/\btroubles?\b/i, 'problem'],
  [/\bverdicts?\b/i, 'decision, result'],
  [/\bsettle on\b/i, 'choose'],
  [/\bmoved in\b/i, 'was scheduled'],
  [/\bright again\b/i, 'restored, repaired, recovered'],
  [/\b(lacking|wanting)\b/i, 'missing'],
  [/\bdrop(s|ped|ping)?\b/i, 'removal, remove; for packets: lose'],
  [/\b(arrivals?|departures?|leaving)\b/i, 'addition, removal, label change'],
  [/\b(goes with leave|given leave)\b/i, 'allowed by exemption, allowed by annotation'],
  [/\bremember(s|ed)?\b/i, 'recorded'],
  [/\bsettle[ds]?\b/i, 'established'],
  [/\bsurveys?\b/i, 'cluster state, snapshot'],
  [/\blook(s|ed|ing)? at\b/i, 'inspect, check, read'],
  [/\b(comes?|came) to\b/i, 'results in, outcome'],
  [/\bcannot be asked\b/i, 'while taintkeeper is unavailable'],
  [/\bwildcards?\b/i, 'pattern'],
  [/\b(is|are|has|have) gone\b/i, 'ended, deleted, lost'],
  [/\bguard(s|ed)?\b/i, 'restricted, protects'],
  [/\bnobody\b/i, 'no user, no replica'],
  [/\b(come and go|comes and goes)\b/i, 'taints that Kubernetes, autoscalers or operators set and remove'],
  [/\b(take|takes|took|taken) out\b/i, 'removed'],
  [/\b(give|gives|gave|given) back\b/i, 'restored'],
];

/** The same, for pages alone. */
const INSTEAD_ON_PAGES: readonly (readonly [RegExp, string])[] = [
  [/\b(wants?|wanted)\b/i, 'required, or: requires'],
  [/\b(standing|held (by|up))\b/i, 'denied by, enforced by, blocked by'],
  [/\badvis(e|es|ed)\b/i, 'warning on apply, recommends'],
  [/\bbut for\b/i, 'except'],
];

/** Only of messages: a user has the installed program, kubectl and helm, and not this repository. */
const INSTEAD_IN_MESSAGES: typeof INSTEAD = [
  [/(?<![\w./-])(docs|manifests|examples)\/\w[\w./-]*/, 'a command of the installed program, of kubectl or of helm'],
];

/** Not only their literals: every line. */
const READ_WHOLE = ['manifests/chart/templates/NOTES.txt', 'manifests/monitoring/alerts.yaml'];

const faults = [
  ...globSync(['*.md', 'docs/{,reference/,runbooks/}*.md', 'design/*.md', 'test/**/*.md'], { cwd: ROOT })
    .filter((path) => path !== 'CHANGELOG.md')
    .flatMap((path) => faultsIn(path, proseOf(read(path)), [...INSTEAD, ...INSTEAD_ON_PAGES])),
  ...globSync(['{src,test,bench,demo}/**/*.{ts,js}', 'scripts/dashboard-panels.ts', ...READ_WHOLE], {
    cwd: ROOT,
  }).flatMap((path) =>
    /\.[tj]s$/.test(path)
      ? faultsIn(path, textsOf(read(path)), [...INSTEAD, ...(path.startsWith('src/') ? INSTEAD_IN_MESSAGES : [])])
      : faultsIn(path, read(path)),
  ),
];
for (const fault of faults.sort()) process.stderr.write(`${fault}\n`);
if (faults.length > 0) process.exitCode = 1;

function read(path: string): string {
  return readFileSync(join(ROOT, path), 'utf8');
}

function faultsIn(path: string, text: string, instead = INSTEAD): string[] {
  return text.split('\n').flatMap((line, index) =>
    instead.flatMap(([words, other]) => {
      const [word] = words.exec(line) ?? [];
      return word === undefined ? [] : [`${path}:${index + 1}: "${word}": write ${other}`];
    }),
  );
}

/** Markdown without code, titles of tests and targets of links. Lines keep their numbers. */
function proseOf(markdown: string): string {
  return markdown
    .replaceAll(/^ *```[\s\S]*?^ *```$/gm, blank)
    .replaceAll(/`[^`\n]*`/g, '')
    .replaceAll(/\[[^\]]*\]\([^)\s]*(test\/|\.test\.ts)[^)\s]*\)/g, blank)
    .replaceAll(/\]\([^)\s]*\)/g, ']');
}

/** The texts of a source: its string literals of more than one word. Lines keep their numbers. */
function textsOf(source: string): string {
  const code = source.replaceAll(/\/\*[\s\S]*?\*\//g, blank).replaceAll(/(^|[^\S\n])\/\/.*$/gm, '');
  return code.split('\n').map(textsOfLine).join('\n');
}

/** Literals stand in templates as well, between `${` and `}`. */
function textsOfLine(line: string): string {
  const template = line.replaceAll(/\$\{[^{}]*\}/g, '…');
  const literals = [...line.matchAll(/'(?:\\.|[^'\\])*'|"(?:\\.|[^"\\])*"/g), ...template.matchAll(/`[^`]*`/g)];
  return literals.flatMap(([text]) => (text.includes(' ') ? [text] : [])).join(' ');
}

function blank(text: string): string {
  return text.replaceAll(/[^\n]/g, '');
}
