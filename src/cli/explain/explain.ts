import { Argument, Command, InvalidArgumentError } from 'commander';
import type { ApiClient } from '../../cluster/client/api-client.ts';
import type { ClusterChoice } from '../../cluster/client/kube-config.ts';
import { InputError } from '../../files/input-error.ts';
import { atCluster, CLUSTER_OPTIONS } from '../cluster-options.ts';
import { type OutputFormat, outputOption } from '../options.ts';
import { withProgress } from '../output/stderr.ts';
import { EXIT } from '../process.ts';
import { readDaemonSetExplanation, readPodExplanation } from './daemon-explanation.ts';
import { readNodeExplanation } from './node-explanation.ts';
import { type PrintedExplanation, printDaemonSet, printNode, printPod } from './printed-explanation.ts';
import { refuseUnselected, UNSELECTED_KINDS, type UnselectedKind } from './unselected-workload.ts';

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

Exit code: 0 no required taint or toleration is missing, no permanent taint keeps the DaemonSet off a node, and the pod is scheduled;
1 otherwise, for example if a pod is not scheduled because no node has enough CPU; 2 could not determine the state
(connection or permission error).

Examples:
  taintkeeper explain node gpu-7
  taintkeeper explain daemonset kube-flannel/kube-flannel-ds
  taintkeeper explain pod kube-flannel/kube-flannel-ds-x7k2p`,
    )
    .action(async (kind: Kind | UnselectedKind, name: string, { kubeconfig, context, output }: ExplainOptions) => {
      if (isUnselected(kind)) {
        const place = placeOf(kind, name);
        return atCluster({ kubeconfig, context }, (client) => refuseUnselected(client, kind, place));
      }
      const { text, isOk } = await atCluster({ kubeconfig, context }, (client) =>
        withProgress(`reading ${kind} ${name}`, EXPLAIN[kind](client, name, output)),
      );
      process.stdout.write(text);
      exit(isOk ? EXIT.ok : EXIT.problem);
    });
}

const KINDS = ['node', 'daemonset', 'pod'] as const;
type Kind = (typeof KINDS)[number];

/** Workloads are accepted, too: the answer names their pods. */
function kindOf(text: string): Kind | UnselectedKind {
  const kind = KINDS.find((one) => one === text);
  if (kind !== undefined) return kind;
  if (isUnselected(text)) return text;
  throw new InvalidArgumentError(`Allowed choices are ${KINDS.join(', ')}.`);
}

function isUnselected(kind: string): kind is UnselectedKind {
  return UNSELECTED_KINDS.some((one) => one === kind);
}

type Explain = (client: ApiClient, name: string, output: OutputFormat) => Promise<PrintedExplanation>;

const EXPLAIN: Readonly<Record<Kind, Explain>> = {
  node: async (client, name, output) => printNode(await readNodeExplanation(client, name), output),
  daemonset: async (client, name, output) =>
    printDaemonSet(await readDaemonSetExplanation(client, placeOf('daemonset', name)), output),
  pod: async (client, name, output) => printPod(await readPodExplanation(client, placeOf('pod', name)), output),
};

/** @throws InputError */
function placeOf(kind: Kind | UnselectedKind, text: string): { readonly namespace: string; readonly name: string } {
  const [namespace = '', name = '', ...rest] = text.split('/');
  if (namespace !== '' && name !== '' && rest.length === 0) return { namespace, name };
  throw new InputError([`explain ${kind} ${text}: expected NAMESPACE/NAME`]);
}
