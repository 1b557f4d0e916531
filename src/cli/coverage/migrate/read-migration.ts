import type { ApiClient } from '../../../cluster/client/api-client.ts';
import { listObjects } from '../../../cluster/list/list-objects.ts';
import { WORKLOAD_KINDS, type Workload } from '../../../coverage/workload.ts';
import { InputError } from '../../../files/input-error.ts';
import { isKind, objectsOf, readNamed } from '../../../files/kubernetes-objects.ts';
import { policyAt } from '../../../files/policy-files.ts';
import { readDocuments } from '../../../files/read-documents.ts';
import { openShiftMark } from '../../../kubernetes/openshift.ts';
import { OLD_ROLE } from '../../../kubernetes/roles.ts';
import { asNode, type NodeObject, viewNode } from '../../../objects/node-object.ts';
import { POLICY_API_VERSION, type Policy, type PolicyKind } from '../../../policy/policy.ts';
import type { Path } from '../../../policy/problem.ts';
import type { MigratingNode, MigrationFacts } from '../../../role-migration/migration-facts.ts';
import { policiesOfKind } from '../policies-of-kind.ts';
import { listWorkloads, readWorkload } from '../workloads.ts';

/**
 * The Nodes, workloads and policies of files.
 * @throws InputError
 */
export async function readMigrationFiles(files: readonly string[]): Promise<MigrationFacts> {
  const nodes: MigratingNode[] = [];
  const workloads: Workload[] = [];
  const policies: Policy[] = [];
  for (const document of await readDocuments(files)) {
    for (const { object, path } of objectsOf(document)) {
      const workload = readWorkload(document, object, path, 'default');
      if (workload) workloads.push(workload);
      else if (isKind(object, 'v1', 'Node'))
        nodes.push(readNamed(document, path, () => readMigratingNode(object, path)));
      else if (object.apiVersion === POLICY_API_VERSION) policies.push(policyAt(document, object, path));
    }
  }
  if (nodes.length === 0) throw new InputError(['no Node found: there is nothing to migrate']);
  return { nodes, workloads, policies, unreadPolicies: [] };
}

/**
 * The MachineConfigPool `master` selects its nodes by the old label. The controllers of openshift/machine-config-operator set the old taint.
 * @throws InputError for a node of OpenShift, MalformedObjectError
 */
function readMigratingNode(object: unknown, path: Path): MigratingNode {
  const { name, labels, taints, allowRemoval } = viewNode(asNode(object, path), '');
  const { metadata } = object as NodeObject;
  const mark = openShiftMark({ labels, annotations: metadata.annotations ?? {} });
  if (mark === undefined) return { name, labels, taints, allowRemoval };
  throw new InputError([
    `node ${name} belongs to OpenShift (${mark}), so there is no plan. OpenShift selects the nodes of its control plane by the label ${OLD_ROLE}, and sets the taint ${OLD_ROLE} itself: keep both`,
  ]);
}

/** The kinds of policies that can name the old taint or label. */
const ROLE_POLICIES = ['TaintPolicy', 'TolerationPolicy', 'TolerationRestriction'] as const satisfies PolicyKind[];

/**
 * The nodes, workloads and policies of a cluster. All workloads are needed: a plan that misses one may evict it.
 * @throws ApiError, MalformedObjectError
 */
export async function readMigrationCluster(client: ApiClient): Promise<MigrationFacts> {
  const [nodes, workloads, read] = await Promise.all([
    listObjects(client, '/api/v1/nodes', (object) => readMigratingNode(object, [])),
    listWorkloads(client, WORKLOAD_KINDS),
    Promise.all(ROLE_POLICIES.map((kind) => plannedPolicies(client, kind))),
  ]);
  return {
    nodes,
    workloads,
    policies: read.flatMap(({ policies }) => policies),
    unreadPolicies: read.flatMap(({ unread }) => unread),
  };
}

const AGAIN = 'run the command again before you change anything';

/** The policies of a kind that can be planned for. None if taintkeeper is not installed. */
async function plannedPolicies(
  client: ApiClient,
  kind: PolicyKind,
): Promise<{ readonly policies: readonly Policy[]; readonly unread: readonly string[] }> {
  const { objects, problem } = await policiesOfKind(client, kind);
  if (problem !== undefined) {
    return { policies: [], unread: [`${kind} objects could not be read (${problem}): correct this, and ${AGAIN}`] };
  }
  return {
    policies: objects.flatMap(({ result }) => (result.ok ? result.policy : [])),
    unread: objects
      .filter(({ result }) => !result.ok)
      .map(({ name }) => `${kind} ${name} is not valid, and was left out: correct it, and ${AGAIN}`),
  };
}
