import { Argument, Command, InvalidArgumentError } from 'commander';
import type { ApiClient } from '../cluster/client/api-client.ts';
import type { ClusterChoice } from '../cluster/client/kube-config.ts';
import { type DaemonExplanation, formatDaemon } from '../explain/explain-daemon.ts';
import { formatNode, type NodeExplanation } from '../explain/explain-node.ts';
import type { Cell, FormattedExplanation, Section, Step } from '../explain/sections.ts';
import { InputError } from '../files/text-files.ts';
import { formatTaint } from '../kubernetes/taint.ts';
import { printable } from '../kubernetes/text.ts';
import { atCluster, CLUSTER_OPTIONS } from './cluster-options.ts';
import {
  readDaemonSetExplanation,
  readNodeExplanation,
  readPodExplanation,
  refuseWorkload,
  WORKLOADS,
  type Workload,
} from './explain-input.ts';
import { type OutputFormat, outputOption } from './options.ts';
import { formatAs } from './output/format.ts';
import type { Look } from './output/look.ts';
import { withProgress } from './output/stderr.ts';
import { columns, namesIn, type TableCell } from './output/table.ts';
import { EXIT } from './process.ts';

interface ExplainOptions extends ClusterChoice {
  readonly output: OutputFormat;
}

/** `taintkeeper explain`: explains the state of a node, a DaemonSet or a pod. */
export function explainCommand(exit: (code: number) => void): Command {
  return new Command('explain')
    .description(
      'Explain why a node has the taints that it has, and why a DaemonSet or a pod runs where it runs: what each policy says, who wrote it last, and what to do next.',
    )
    .addArgument(new Argument('<kind>', 'of the object').choices(KINDS).argParser(kindOf))
    .argument('<name>', 'of the node, or NAMESPACE/NAME')
    .addOption(CLUSTER_OPTIONS.kubeconfig())
    .addOption(CLUSTER_OPTIONS.context())
    .addOption(outputOption())
    .addHelpText(
      'after',
      `
Reads the object, nodes, policies and Events, with your own rights. taintkeeper need not be running.

Exit code: 0 no required taint is missing, or nothing keeps the pods off; 1 a taint or a toleration is missing, or a taint keeps pods
off a node; 2 could not determine the state (connection or permission error).

Examples:
  taintkeeper explain node gpu-7
  taintkeeper explain daemonset kube-flannel/kube-flannel-ds
  taintkeeper explain pod kube-flannel/kube-flannel-ds-x7k2p`,
    )
    .action(async (kind: Kind | Workload, name: string, { kubeconfig, context, output }: ExplainOptions) => {
      if (isWorkload(kind)) {
        const place = placeOf(kind, name);
        return atCluster({ kubeconfig, context }, (client) => refuseWorkload(client, kind, place));
      }
      const { text, isWell } = await atCluster({ kubeconfig, context }, (client) =>
        withProgress(`reading ${kind} ${name}`, EXPLAIN[kind](client, name, output)),
      );
      process.stdout.write(text);
      exit(isWell ? EXIT.ok : EXIT.problem);
    });
}

const KINDS = ['node', 'daemonset', 'pod'] as const;
type Kind = (typeof KINDS)[number];

/** Workloads are accepted, too: the answer names their pods. */
function kindOf(text: string): Kind | Workload {
  const kind = KINDS.find((one) => one === text);
  if (kind !== undefined) return kind;
  if (isWorkload(text)) return text;
  throw new InvalidArgumentError(`Allowed choices are ${KINDS.join(', ')}.`);
}

function isWorkload(kind: string): kind is Workload {
  return Object.hasOwn(WORKLOADS, kind);
}

interface Explained {
  readonly text: string;
  readonly isWell: boolean;
}

const EXPLAIN: Readonly<Record<Kind, (client: ApiClient, name: string, output: OutputFormat) => Promise<Explained>>> = {
  async node(client, name, output) {
    const explained = await readNodeExplanation(client, name);
    return formatted(formatNode(explained), nodeData(explained), output);
  },
  async daemonset(client, name, output) {
    const explained = await readDaemonSetExplanation(client, placeOf('daemonset', name));
    return formatted(formatDaemon(explained), daemonData(explained), output);
  },
  async pod(client, name, output) {
    const explained = await readPodExplanation(client, placeOf('pod', name));
    return formatted(formatDaemon(explained), daemonData(explained), output);
  },
};

/** @throws InputError */
function placeOf(kind: Kind | Workload, text: string): { readonly namespace: string; readonly name: string } {
  const [namespace = '', name = '', ...rest] = text.split('/');
  if (namespace !== '' && name !== '' && rest.length === 0) return { namespace, name };
  throw new InputError([`explain ${kind} ${text}: expected NAMESPACE/NAME`]);
}

function formatted(explanation: FormattedExplanation, explained: object, output: OutputFormat): Explained {
  const { next, isWell } = explanation;
  const text = formatAs(output, {
    data: () => ({ ...explained, next: stepText(next) }),
    table: (look) => explanationText(explanation, look),
  });
  return { text, isWell };
}

function nodeData({ taints, writtenBy, fromLeader: _, ...rest }: NodeExplanation): object {
  return {
    ...rest,
    taints: taints.map(({ taint, ...one }) => ({ taint: formatTaint(taint), ...one })),
    ...by(writtenBy),
  };
}

function daemonData({ gaps, waiting, unasked, writtenBy, ...rest }: DaemonExplanation): object {
  const texts = (taints: typeof gaps) => [...new Set(taints.map(formatTaint))];
  return { ...rest, gaps: texts(gaps), waiting: texts(waiting), unasked: texts(unasked), ...by(writtenBy) };
}

function by(writtenBy: NodeExplanation['writtenBy']): object {
  return writtenBy ? { writtenBy: { ...writtenBy, fieldsV1: undefined } } : {};
}

/** An explanation as text. */
export function explanationText({ sections, next }: FormattedExplanation, look: Look): string {
  const parts = sections.map((section) => sectionText(section, look));
  return [...parts, nextText(next)].join('\n');
}

function sectionText(section: Section, look: Look): string {
  if ('lines' in section) return section.lines.map((line) => `${printable(line)}\n`).join('');
  const { head, rows } = section;
  const cells = rows.map((row) => row.map((cell) => tableCell(cell, look)));
  return columns([head.map((title) => title.toUpperCase()), ...cells], look);
}

/** How many nodes are named. */
const NAMES = 4;

function tableCell(cell: Cell, look: Look): TableCell {
  if (typeof cell === 'string') return printable(cell);
  if ('level' in cell) return cell;
  return 'nodes' in cell ? namesIn(cell.nodes, NAMES, look) : printable(cell.text);
}

/** A command is on its own line, to be copied. */
function nextText({ command, note }: Step): string {
  const [first = '', ...rest] = [command, note].filter((part) => part !== undefined).map(printable);
  return [`next: ${first}\n`, ...rest.map((line) => `  ${line}\n`)].join('');
}

function stepText({ command, note }: Step): string {
  return [command, note].filter((part) => part !== undefined).join(': ');
}
