import { Command } from 'commander';
import type { ClusterChoice } from '../../cluster/client/kube-config.ts';
import { listObjects } from '../../cluster/list/list-objects.ts';
import { InputError } from '../../files/input-error.ts';
import { nodesOf } from '../../files/kubernetes-objects.ts';
import { readDocuments } from '../../files/read-documents.ts';
import { listFiles } from '../../files/text-files.ts';
import { selects } from '../../kubernetes/label-selector.ts';
import { parseSelector } from '../../policy/selector-text.ts';
import { assign } from '../../talos/assignment.ts';
import { driftOf } from '../../talos/drift.ts';
import { readDeclarations } from '../../talos/lint/read-declarations.ts';
import { asLiveNode, type LiveNode } from '../../talos/live-node.ts';
import type { NodeDeclaration } from '../../talos/node-declaration.ts';
import { atCluster, CLUSTER_OPTIONS } from '../cluster-options.ts';
import { type FilenameOptions, filenameOption, givenFiles, type OutputFormat, outputOption } from '../options.ts';
import { withProgress } from '../output/stderr.ts';
import { EXIT } from '../process.ts';
import { formatDrift } from './compared-nodes.ts';

interface DriftOptions extends ClusterChoice, FilenameOptions {
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
      const files = await listFiles(givenFiles(args, options));
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
  declarations: readonly NodeDeclaration[],
  nodes: readonly LiveNode[],
): ReadonlyMap<string, NodeDeclaration> {
  const faults: string[] = [];
  const named = new Map<string, NodeDeclaration>();
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
 * @throws InputError for a file that cannot be read, with the location of a Node that is malformed or has no name
 */
async function nodesOfFile(file: string): Promise<LiveNode[]> {
  return (await readDocuments([file])).flatMap((document) => nodesOf(document, asLiveNode));
}
