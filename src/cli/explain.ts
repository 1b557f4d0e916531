import { Argument, Command } from 'commander';
import type { ApiClient } from '../cluster/client/api-client.ts';
import type { ClusterChoice } from '../cluster/client/kube-config.ts';
import { runsInAudit } from '../doctor/checks/policies.ts';
import { explainNode } from '../doctor/node-explanation.ts';
import { InputError } from '../files/text-files.ts';
import { asNode, roomOn, viewNode } from '../objects/node-object.ts';
import { atCluster, CLUSTER_OPTIONS, listPolicies } from './cluster-options.ts';
import { readDaemonSet, readPod } from './explain-daemon.ts';
import { formatDaemon, isWell } from './explain-daemon-output.ts';
import { readEvents, readObject, troublesOf, writerOf } from './explain-input.ts';
import { type ExplainedNode, formatExplanation } from './explain-output.ts';
import { EXIT, type OutputFormat, outputOption } from './options.ts';
import { withProgress } from './output.ts';

interface ExplainOptions extends ClusterChoice {
  readonly output: OutputFormat;
}

/** `taintkeeper explain`: why a node, a DaemonSet or a pod is as it is. */
export function explainCommand(exit: (code: number) => void): Command {
  return new Command('explain')
    .description(
      'Explain why a node has the taints that it has, and why a DaemonSet or a pod runs where it runs: what each policy says, who wrote it last, and what to do next.',
    )
    .addArgument(new Argument('<kind>', 'of the object').choices(['node', 'daemonset', 'pod']))
    .argument('<name>', 'of the node, or NAMESPACE/NAME')
    .addOption(CLUSTER_OPTIONS.kubeconfig())
    .addOption(CLUSTER_OPTIONS.context())
    .addOption(outputOption())
    .addHelpText(
      'after',
      `
Reads the object, nodes, policies and Events, with your own rights. taintkeeper need not be running.

Exit code: 0 the node carries what it should, or nothing keeps the pods off; 1 a taint or a toleration is missing, or a taint keeps
pods off a node; 2 it could not be looked at.

Examples:
  taintkeeper explain node gpu-7
  taintkeeper explain daemonset kube-flannel/kube-flannel-ds
  taintkeeper explain pod kube-flannel/kube-flannel-ds-x7k2p`,
    )
    .action(async (kind: Kind, name: string, { kubeconfig, context, output }: ExplainOptions) => {
      const { text, isWell } = await atCluster({ kubeconfig, context }, (client) =>
        withProgress(`reading ${kind} ${name}`, EXPLAIN[kind](client, name, output)),
      );
      process.stdout.write(text);
      exit(isWell ? EXIT.ok : EXIT.trouble);
    });
}

type Kind = 'node' | 'daemonset' | 'pod';

interface Explained {
  readonly text: string;
  readonly isWell: boolean;
}

const EXPLAIN: Readonly<Record<Kind, (client: ApiClient, name: string, output: OutputFormat) => Promise<Explained>>> = {
  async node(client, name, output) {
    const explained = await explainNodeOf(client, name);
    const isWell = explained.taints.every(({ state }) => state !== 'missing');
    return { text: formatExplanation(explained, output), isWell };
  },
  async daemonset(client, name, output) {
    const explained = await readDaemonSet(client, placeOf('daemonset', name));
    return { text: formatDaemon(explained, output), isWell: isWell(explained) };
  },
  async pod(client, name, output) {
    const explained = await readPod(client, placeOf('pod', name));
    return { text: formatDaemon(explained, output), isWell: isWell(explained) };
  },
};

/** @throws InputError */
function placeOf(kind: Kind, text: string): { readonly namespace: string; readonly name: string } {
  const [namespace = '', name = '', ...rest] = text.split('/');
  if (namespace !== '' && name !== '' && rest.length === 0) return { namespace, name };
  throw new InputError([`explain ${kind} ${text}: expected NAMESPACE/NAME`]);
}

/** @throws InputError where there is no such node, ApiError, MalformedObjectError */
async function explainNodeOf(client: ApiClient, name: string): Promise<ExplainedNode> {
  const object = await readObject(client, `/api/v1/nodes/${encodeURIComponent(name)}`, `node ${name}`);
  const [policies, told] = await Promise.all([
    listPolicies(client, 'TaintPolicy'),
    readEvents(client, { kind: 'Node', namespace: 'default', name }),
  ]);
  const node = asNode(object, []);
  const explained = explainNode(
    { ...viewNode(node, name), room: roomOn(node) },
    policies.flatMap(({ inForce }) => inForce?.policy ?? []),
    { audit: policies.some(runsInAudit) },
  );
  const selecting = new Set(explained.policies.flatMap(({ policy, unmet }) => (unmet.length === 0 ? [policy] : [])));
  return {
    name,
    ...explained,
    writtenBy: writerOf(object, ['spec', 'taints']),
    troubles: policies.filter((policy) => selecting.has(policy.name)).flatMap(troublesOf),
    ...told,
  };
}
