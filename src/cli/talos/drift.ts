import { Command } from 'commander';
import type { ClusterChoice } from '../../cluster/client/kube-config.ts';
import { listObjects } from '../../cluster/watch/list-pages.ts';
import { readDocuments } from '../../files/documents.ts';
import { reviewablesOf } from '../../files/reviewables.ts';
import { InputError, listFiles } from '../../files/text-files.ts';
import { EVICTS } from '../../judge/blocked.ts';
import { selects } from '../../kubernetes/label-selector.ts';
import { parseTaint } from '../../kubernetes/taint.ts';
import { printable, shellWord } from '../../kubernetes/text.ts';
import { MalformedObjectError } from '../../objects/object-meta.ts';
import { parseSelector } from '../../policy/selector.ts';
import { type Assignment, type Assignments, assign } from '../../talos/assignment.ts';
import { type Declaration, ownLabels, readDeclarations } from '../../talos/declaration.ts';
import { type DriftFinding, driftOf } from '../../talos/drift.ts';
import { asLiveNode, type LiveNode } from '../../talos/live-node.ts';
import { atCluster, CLUSTER_OPTIONS } from '../cluster-options.ts';
import { filenameOption, type OutputFormat, outputOption } from '../options.ts';
import { formatAs } from '../output/format.ts';
import type { Look } from '../output/look.ts';
import { withProgress } from '../output/stderr.ts';
import { columns, namesIn, type TableCell } from '../output/table.ts';
import { EXIT } from '../process.ts';

interface DriftOptions extends ClusterChoice {
  readonly filename?: readonly string[];
  readonly nodes?: string;
  readonly node: readonly string[];
  readonly selector?: string;
  readonly output: OutputFormat;
}

/** `taintkeeper talos drift`: compares machine configurations with nodes. */
export function driftCommand(exit: (code: number) => void): Command {
  return new Command('drift')
    .description('Compare the taints and labels that machine configurations declare with those of live nodes.')
    .argument('[file...]', 'machine configurations, or patches of them, or directories of either; - is standard input')
    .addOption(filenameOption())
    .option(
      '--node <name=file>',
      "whose machine configuration the file is; may be repeated (default: by declared hostname, else by the file's own labels, else by role)",
      (value: string, before: readonly string[]) => [...before, value],
      [],
    )
    .option('-l, --selector <selector>', 'only nodes with these labels')
    .addOption(CLUSTER_OPTIONS.kubeconfig())
    .addOption(CLUSTER_OPTIONS.context())
    .option(
      '--nodes <file>',
      'no cluster: the nodes are in this file, as of kubectl get nodes -o yaml; - is standard input',
    )
    .addOption(outputOption())
    .addHelpText(
      'after',
      `
Exit code: 0 every node that was compared is as declared, 1 some are not, 2 none could be compared.

Examples:
  taintkeeper talos drift controlplane.yaml worker.yaml gpu.yaml
  taintkeeper talos drift --node gpu-1=gpu.yaml --nodes nodes.yaml -o json`,
    )
    .action(async (args: readonly string[], options: DriftOptions) => {
      const files = await listFiles([...args, ...(options.filename ?? [])]);
      const pairs = options.node.map(readPair);
      const sources = [...new Set([...files, ...pairs.map(({ file }) => file)])];
      if (sources.length === 0) throw new InputError(['no input files: pass FILE… or --node NAME=FILE']);
      if (options.nodes === '-' && sources.includes('-')) {
        throw new InputError(['standard input holds the nodes or a machine configuration, not both: name a file']);
      }
      const declarations = await readDeclarations(sources);
      const nodes = await readNodes(options);
      const result = assign(nodes, declarations, namedIn(pairs, sources, declarations, nodes));
      if (result.assigned.length === 0) {
        throw new InputError([
          `none of ${nodes.length} nodes is known to have one of these machine configurations: say which with --node NAME=FILE`,
        ]);
      }
      const compared = result.assigned.map((each) => ({ ...each, findings: driftOf(each.node, each.declaration) }));
      process.stdout.write(formatDrift({ ...result, compared }, options.output));
      exit(compared.some(({ findings }) => findings.length > 0) ? EXIT.problem : EXIT.ok);
    });
}

interface Pair {
  readonly name: string;
  readonly file: string;
}

function readPair(text: string): Pair {
  const at = text.indexOf('=');
  if (at < 1 || at === text.length - 1) throw new InputError([`--node ${text}: expected NAME=FILE`]);
  return { name: text.slice(0, at), file: text.slice(at + 1) };
}

async function readNodes({ kubeconfig, context, nodes: file, selector }: DriftOptions): Promise<LiveNode[]> {
  const parsed = selector === undefined ? undefined : parseSelector(selector);
  if (parsed?.ok === false) throw new InputError([`--selector ${selector}: ${parsed.problem}`]);
  const nodes = await (file === undefined
    ? withProgress('reading nodes', nodesOfCluster({ kubeconfig, context }, selector))
    : nodesOfFile(file));
  if (file !== undefined && nodes.length === 0) throw new InputError([`${file}: there is no Node in it`]);
  return parsed ? nodes.filter(({ labels }) => selects(parsed.selector, labels)) : nodes;
}

function namedIn(
  pairs: readonly Pair[],
  sources: readonly string[],
  declarations: readonly Declaration[],
  nodes: readonly LiveNode[],
): ReadonlyMap<string, Declaration> {
  const faults: string[] = [];
  const named = new Map<string, Declaration>();
  for (const { name, file } of pairs) {
    const declaration = declarations[sources.indexOf(file)];
    if (!nodes.some((node) => node.name === name)) faults.push(`--node ${name}=${file}: there is no node ${name}`);
    else if (named.has(name)) faults.push(`--node ${name}=${file}: ${name} has a file already`);
    else if (declaration) named.set(name, declaration);
  }
  if (faults.length > 0) throw new InputError(faults);
  return named;
}

/**
 * The nodes of the cluster that the kubeconfig names.
 * @param labelSelector as the API server takes it; without one, every node
 * @throws InputError if the cluster does not answer, or refuses
 */
function nodesOfCluster(choice: ClusterChoice, labelSelector: string | undefined): Promise<LiveNode[]> {
  return atCluster(choice, (client) =>
    listObjects(client, '/api/v1/nodes', (object) => asLiveNode(object, []), { labelSelector }),
  );
}

/**
 * The nodes in a file, as `kubectl get nodes -o yaml` writes them; `-` is standard input.
 * @throws InputError for a file that cannot be read, with the location of a malformed Node
 */
async function nodesOfFile(file: string): Promise<LiveNode[]> {
  const { reviewables } = reviewablesOf(await readDocuments([file]), { username: '', groups: [], namespace: '' });
  return reviewables
    .filter(({ request }) => request.resource.resource === 'nodes')
    .map(({ request, locate }) => {
      try {
        return asLiveNode(request.object, ['request', 'object']);
      } catch (error) {
        if (!(error instanceof MalformedObjectError)) throw error;
        throw new InputError([`${locate(error.path)}: ${error.problem}`]);
      }
    });
}

/** The result for each node. */
interface Drift extends Omit<Assignments, 'assigned'> {
  readonly compared: readonly (Assignment & { readonly findings: readonly DriftFinding[] })[];
}

/** The result of `taintkeeper talos drift` as text. */
function formatDrift(drift: Drift, format: OutputFormat): string {
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
    `${compared.length} ${compared.length === 1 ? 'node' : 'nodes'} compared, ${compared.length - drifted.length} as declared\n`,
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
