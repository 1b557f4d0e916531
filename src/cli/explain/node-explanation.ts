import type { ApiClient } from '../../cluster/client/api-client.ts';
import { listNodePods } from '../../cluster/nodes/node-pods.ts';
import { projectNode } from '../../cluster/objects/cluster-objects.ts';
import { policiesInForce } from '../../cluster/policies/policy-object.ts';
import { explainNode, type NodeExplanation } from '../../explain/explain-node.ts';
import { explainStartupTaints } from '../../explain/explain-startup-taints.ts';
import type { Facts } from '../../explain/explained-facts.ts';
import { carriedStartup } from '../../judge/startup/startup-requirement.ts';
import { compilePolicies } from '../../policy/policy-set.ts';
import { readFacts, readObject, unlessForbidden } from './explained-object.ts';
import { readStartupSources } from './read-startup-sources.ts';

/** @throws InputError if there is no such node, ApiError, MalformedObjectError */
export async function readNodeExplanation(client: ApiClient, name: string): Promise<NodeExplanation> {
  const object = await readObject(client, `/api/v1/nodes/${encodeURIComponent(name)}`, `node ${name}`);
  const [facts, pods] = await Promise.all([
    readFacts(client, ['TaintPolicy'], { kind: 'Node', namespace: 'default', name }),
    unlessForbidden(listNodePods(client, name), 'its pods were not read'),
  ]);
  const startup = await readStartupTaints(client, object, facts);
  return explainNode(object, name, {
    ...facts,
    pods: pods.value,
    notes: [...facts.notes, ...pods.notes, ...startup.notes],
    now: client.now().getTime(),
    ...(startup.text === undefined ? {} : { startup: startup.text }),
  });
}

/** What the startup taints of the node wait for, or why that could not be read. @throws ApiError */
async function readStartupTaints(
  client: ApiClient,
  object: unknown,
  { policies, audit }: Facts,
): Promise<{ readonly text?: string; readonly notes: readonly string[] }> {
  const { taintPolicies } = compilePolicies(policiesInForce(policies), { audit });
  const node = projectNode(object);
  const carried = carriedStartup(node, taintPolicies);
  if (carried.length === 0) return { notes: [] };
  const { value: sources, notes } = await unlessForbidden(
    readStartupSources(client, node.name, carried),
    'what startup taints wait for was not read',
  );
  if (sources === undefined) return { notes };
  return explainStartupTaints(node, carried, taintPolicies, sources, client.now().getTime());
}
