import { parseTaint } from '../../kubernetes/taint.ts';
import { EVICTS } from '../../policy/reporting/taint-commands.ts';
import type { Assignment, Assignments } from '../../talos/assignment.ts';
import type { DriftFinding } from '../../talos/drift.ts';
import { ownLabels } from '../../talos/node-declaration.ts';
import { count } from '../../text/counts.ts';
import { printable, shellWord } from '../../text/printable.ts';
import type { OutputFormat } from '../options.ts';
import { formatAs } from '../output/format.ts';
import type { Look } from '../output/look.ts';
import { columns, namesIn, type TableCell } from '../output/table.ts';

/** The result for each node. */
interface Drift extends Omit<Assignments, 'assigned'> {
  readonly compared: readonly (Assignment & { readonly findings: readonly DriftFinding[] })[];
}

/** The result of `taintkeeper talos drift` as text. */
export function formatDrift(drift: Drift, format: OutputFormat): string {
  return formatAs(format, { data: () => dataOf(drift), table: (look) => tableOf(drift, look) });
}

function dataOf({ compared, unassigned, unused }: Drift): object {
  return {
    nodes: compared.map(({ node, declaration, by, findings }) => ({
      name: node.name,
      file: declaration.configuration.source,
      matchedBy: by,
      findings: findings.map((finding) => ({
        ...finding,
        ...(finding.fix ? { fix: command(finding.fix) } : {}),
        ...(finding.claim
          ? {
              claim: {
                ...(finding.claim.removal ? { removal: command(finding.claim.removal) } : {}),
                release: command(finding.claim.release),
              },
            }
          : {}),
        ...(finding.problem === 'claimed' ? { note: CLAIMED } : {}),
        ...(evicts(finding) ? { note: EVICTS } : {}),
      })),
    })),
    notCompared: unassigned,
    filesWithoutNode: unused.map(({ configuration }) => configuration.source),
  };
}

const CLAIMED =
  'only an annotation of the node says that Talos has set it, and a kubelet can write that annotation; before you remove it, find out who set it. If Talos did: up to 1.13 it cannot remove it, and no change of labels or annotations of the configuration reaches the node until it is removed or released';

/** How many are printed. The JSON has all. */
const NAMES_SHOWN = 6;

const HEADINGS = ['NODE', 'FILE', 'MATCHED BY', 'PROBLEM', 'WHAT', 'DECLARED'];

function tableOf(drift: Drift, look: Look): string {
  const { compared, unassigned, unused } = drift;
  const drifted = compared.filter(({ findings }) => findings.length > 0);
  const rows = drifted.flatMap(({ node, declaration, by, findings }) =>
    findings.map((finding, index) => [
      ...(index === 0 ? [node.name, declaration.configuration.source, by] : ['', '', '']).map(printable),
      problemCell(finding),
      printable(`${finding.kind} ${finding.live ?? finding.declared}`),
      printable(declaredIn(finding)),
    ]),
  );
  const commands = drifted.flatMap(({ findings }) =>
    findings.flatMap(({ fix }) => (fix ? [`  ${command(fix)}\n`] : [])),
  );
  const claims = drifted.flatMap(({ findings }) => findings.flatMap(({ claim }) => claim ?? []));
  const removals = claims.flatMap(({ removal }) => (removal ? [`  ${command(removal)}\n`] : []));
  const releases = [...new Set(claims.map(({ release }) => `  ${command(release)}\n`))];
  const isEvicting = drifted.some(({ findings }) => findings.some(evicts));
  return [
    ...(rows.length > 0 ? [columns([HEADINGS, ...rows], look), '\n'] : []),
    `${count(compared.length, 'node')} compared, ${compared.length - drifted.length} as declared\n`,
    ...(claims.length > 0 ? [`claimed: ${CLAIMED}\n`] : []),
    ...takenByRole(drift, look).map((line) => `${printable(line)}\n`),
    ...[...Map.groupBy(unassigned, ({ why }) => why)].map(([why, found]) => {
      const names = found.map(({ node }) => node);
      return `${printable(`${found.length} not compared (${why}): `)}${namesIn(names, NAMES_SHOWN, look)}\n`;
    }),
    ...unused.map(({ configuration }) => `${printable(configuration.source)} is for none of the nodes\n`),
    ...(unassigned.length > 0 ? ['--node NAME=FILE says which file is for which node\n'] : []),
    ...(commands.length > 0
      ? [`\nTo repair${isEvicting ? ` (a NoExecute taint ${EVICTS})` : ''}:\n`, ...commands]
      : []),
    ...(removals.length > 0
      ? ['\nTo remove what is claimed, if Talos and no other user has set it:\n', ...removals]
      : []),
    ...(releases.length > 0 ? ['\nTo keep what is claimed, and release it from Talos:\n', ...releases] : []),
  ].join('');
}

/**
 * If NodeRestriction refused the labels and taints of a worker, it looks like a node of a file without labels. A node that may belong to
 * another file is therefore named.
 */
function takenByRole({ compared, unused }: Drift, look: Look): string[] {
  const pools = [...compared.map(({ declaration }) => declaration), ...unused].filter(
    (declaration) => declaration.configuration.role !== 'controlplane' && ownLabels(declaration).size > 0,
  );
  if (pools.length === 0) return [];
  const byRole = compared.filter(({ by, declaration }) => by === 'role' && declaration.configuration.role === 'worker');
  return [...Map.groupBy(byRole, ({ declaration }) => declaration)].map(([{ configuration }, found]) => {
    const names = namesIn(
      found.map(({ node }) => node.name),
      NAMES_SHOWN,
      look,
    );
    return `${found.length} taken for ${configuration.source} by role, having the labels of no other file: ${names}`;
  });
}

function problemCell({ problem }: DriftFinding): TableCell {
  return problem === 'missing' ? { text: problem, level: 'failed' } : problem;
}

/** `gpu.yaml:9:5`, with the value if the node has another one. */
function declaredIn({ problem, declared, at }: DriftFinding): string {
  if (at === undefined) return '-';
  return problem === 'different' ? `${declared} at ${at}` : at;
}

/** Whether the command sets a taint that evicts pods. */
function evicts({ kind, declared }: DriftFinding): boolean {
  return kind === 'taint' && declared !== undefined && parseTaint(declared)?.effect === 'NoExecute';
}

/** A shell command. */
function command(args: readonly string[]): string {
  return ['kubectl', ...args.map(shellWord)].join(' ');
}
