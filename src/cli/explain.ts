import { Argument, Command } from 'commander';
import type { ApiClient } from '../cluster/client/api-client.ts';
import { ApiError, isNotFound } from '../cluster/client/api-error.ts';
import type { ClusterChoice } from '../cluster/client/kube-config.ts';
import type { PolicyObject } from '../cluster/policies.ts';
import { lastWriter, type ManagedFields } from '../controllers/managed-objects.ts';
import { runsInAudit } from '../doctor/checks/policies.ts';
import { explainNode } from '../doctor/node-explanation.ts';
import { InputError } from '../files/text-files.ts';
import { asNode, roomOn, viewNode } from '../objects/node-object.ts';
import type { PolicyStatus } from '../policy/policy-status.ts';
import { atCluster, CLUSTER_OPTIONS, listPolicies } from './cluster-options.ts';
import { type ExplainedNode, formatExplanation, type PolicyTrouble, type ToldEvent } from './explain-output.ts';
import { EXIT, type OutputFormat, outputOption } from './options.ts';
import { withProgress } from './output.ts';

interface ExplainOptions extends ClusterChoice {
  readonly output: OutputFormat;
}

/** `taintkeeper explain`: why a node is as it is. */
export function explainCommand(exit: (code: number) => void): Command {
  return new Command('explain')
    .description('Explain why a node has the taints that it has, and lacks those that it lacks.')
    .addArgument(new Argument('<kind>', 'of the object').choices(['node']))
    .argument('<name>', 'of the object')
    .addOption(CLUSTER_OPTIONS.kubeconfig())
    .addOption(CLUSTER_OPTIONS.context())
    .addOption(outputOption())
    .addHelpText(
      'after',
      `
Reads the node, the policies and Events, with your own rights. taintkeeper need not be running.

Exit code: 0 the node carries what it should, 1 a taint is missing, 2 it could not be looked at.

Examples:
  taintkeeper explain node gpu-7`,
    )
    .action(async (_kind: string, name: string, { kubeconfig, context, output }: ExplainOptions) => {
      const explained = await atCluster({ kubeconfig, context }, (client) =>
        withProgress(`reading node ${name}`, explain(client, name)),
      );
      process.stdout.write(formatExplanation(explained, output));
      exit(explained.taints.some(({ state }) => state === 'missing') ? EXIT.trouble : EXIT.ok);
    });
}

/** @throws InputError where there is no such node, ApiError, MalformedObjectError */
async function explain(client: ApiClient, name: string): Promise<ExplainedNode> {
  const object = await readNode(client, name);
  const [policies, events] = await Promise.all([listPolicies(client, 'TaintPolicy'), readEvents(client, name)]);
  const node = asNode(object, []);
  const { managedFields = [] } = (object as { metadata: { managedFields?: ManagedFields[] } }).metadata;
  const explained = explainNode(
    { ...viewNode(node, name), room: roomOn(node) },
    policies.flatMap(({ inForce }) => inForce?.policy ?? []),
    { audit: policies.some(runsInAudit) },
  );
  const selecting = new Set(explained.policies.flatMap(({ policy, unmet }) => (unmet.length === 0 ? [policy] : [])));
  return {
    name,
    ...explained,
    writtenBy: lastWriter(managedFields, ['spec', 'taints']),
    troubles: policies.filter((policy) => selecting.has(policy.name)).flatMap(troublesOf),
    ...events,
  };
}

async function readNode(client: ApiClient, name: string): Promise<unknown> {
  try {
    return await client.request('GET', `/api/v1/nodes/${encodeURIComponent(name)}`);
  } catch (error) {
    if (isNotFound(error)) throw new InputError([`node ${name}: not found`]);
    throw error;
  }
}

/** Whether each condition holds where all is well. Taints that wait for their turn are no trouble: it comes. */
const WELL: Readonly<Record<string, 'True' | 'False'>> = {
  Ready: 'True',
  Backstop: 'True',
  Stalled: 'False',
  FieldsIgnored: 'False',
};

/** What of a policy is not as it should be, by its own status. */
function troublesOf({ name, status }: PolicyObject): PolicyTrouble[] {
  const { conditions = [] } = (status ?? {}) as PolicyStatus;
  return conditions
    .filter(({ type, status: holds }) => type in WELL && WELL[type] !== holds)
    .map(({ type, reason, message }) => ({ policy: name, condition: type, reason, message }));
}

const MAX_EVENTS = 10;

interface EventObject {
  readonly reason: string;
  readonly note?: string;
  readonly eventTime?: string;
  readonly series?: { readonly lastObservedTime: string };
}

/** What taintkeeper has told of the node, the latest last. */
async function readEvents(client: ApiClient, name: string): Promise<Pick<ExplainedNode, 'events' | 'note'>> {
  const fieldSelector = `regarding.kind=Node,regarding.name=${name},reportingController=taintkeeper.dev/taintkeeper`;
  try {
    const { items } = await client.request<{ items: EventObject[] }>(
      'GET',
      '/apis/events.k8s.io/v1/namespaces/default/events',
      { query: { fieldSelector } },
    );
    const events = items.map(
      ({ reason, note = '', eventTime = '', series }): ToldEvent => ({
        time: series?.lastObservedTime ?? eventTime,
        reason,
        note,
      }),
    );
    return { events: events.toSorted((a, b) => a.time.localeCompare(b.time)).slice(-MAX_EVENTS), note: undefined };
  } catch (error) {
    if (!(error instanceof ApiError)) throw error;
    return { events: [], note: `Events were not read: ${error.message}` };
  }
}
