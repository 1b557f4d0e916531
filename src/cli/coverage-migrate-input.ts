import type { ApiClient } from '../cluster/client/api-client.ts';
import { ApiError, isNotFound } from '../cluster/client/api-error.ts';
import { listPolicies } from '../cluster/policies.ts';
import { listObjects } from '../cluster/watch/list-pages.ts';
import type { SchedulingNode } from '../coverage/coverage.ts';
import { type MigrationFacts, WORKLOAD_KINDS, type Workload } from '../coverage/role-facts.ts';
import { locateField, type SourceDocument } from '../files/documents.ts';
import { isKind, objectsOf, readNamed } from '../files/kubernetes-objects.ts';
import { InputError } from '../files/text-files.ts';
import { viewWorkload, WORKLOAD_API_VERSIONS } from '../objects/workload-object.ts';
import { POLICY_API_VERSION, type Policy, type PolicyKind, parsePolicy } from '../policy/policy.ts';
import { readNode } from './coverage-input.ts';

/** The input of the plan, and what could not be read. */
export interface MigrationInput {
  readonly facts: MigrationFacts;
  readonly notes: readonly string[];
}

/**
 * The Nodes, workloads and policies of documents.
 * @throws InputError
 */
export function migrationFrom(documents: readonly SourceDocument[], namespace: string): MigrationInput {
  const nodes: SchedulingNode[] = [];
  const workloads: Workload[] = [];
  const policies: Policy[] = [];
  for (const document of documents) {
    for (const { object, path } of objectsOf(document)) {
      const kind = WORKLOAD_KINDS.find((kind) => isKind(object, WORKLOAD_API_VERSIONS[kind], kind));
      if (kind) workloads.push(readNamed(document, path, () => viewWorkload(kind, object, path, namespace)));
      else if (isKind(object, 'v1', 'Node')) nodes.push(readNamed(document, path, () => readNode(object, path)));
      else if (object.apiVersion === POLICY_API_VERSION) {
        const result = parsePolicy(object);
        if (!result.ok) {
          throw new InputError(
            result.problems.map(
              (problem) => `${locateField(document, [...path, ...problem.path])}: ${problem.message}`,
            ),
          );
        }
        policies.push(result.policy);
      }
    }
  }
  if (nodes.length === 0) throw new InputError(['no Node found: there is nothing to migrate']);
  return { facts: { nodes, workloads, policies }, notes: [] };
}

const WORKLOAD_LISTS = [
  { kind: 'DaemonSet', path: '/apis/apps/v1/daemonsets' },
  { kind: 'Deployment', path: '/apis/apps/v1/deployments' },
  { kind: 'StatefulSet', path: '/apis/apps/v1/statefulsets' },
  { kind: 'CronJob', path: '/apis/batch/v1/cronjobs' },
] as const;

/**
 * The nodes, workloads and policies of a cluster. All workloads are needed: a plan that misses one may evict it.
 * @throws ApiError, MalformedObjectError
 */
export async function readMigration(client: ApiClient): Promise<MigrationInput> {
  const notes: string[] = [];
  const [nodes, workloads, policies] = await Promise.all([
    listObjects(client, '/api/v1/nodes', (object) => readNode(object, [])),
    Promise.all(
      WORKLOAD_LISTS.map(({ kind, path }) => listObjects(client, path, (object) => viewWorkload(kind, object, [], ''))),
    ),
    Promise.all((['TaintPolicy', 'TolerationPolicy'] as const).map((kind) => readPolicies(client, kind, notes))),
  ]);
  return { facts: { nodes, workloads: workloads.flat(), policies: policies.flat() }, notes };
}

/** None if taintkeeper is not installed. @param notes gets what was not used, and why */
async function readPolicies(client: ApiClient, kind: PolicyKind, notes: string[]): Promise<Policy[]> {
  try {
    const found = await listPolicies(client, [kind]);
    return found.flatMap(({ name, result }) => {
      if (result.ok) return result.policy;
      notes.push(`${kind} ${name} is not valid, and was not used`);
      return [];
    });
  } catch (error) {
    if (isNotFound(error)) return [];
    if (!(error instanceof ApiError)) throw error;
    notes.push(`policies were not read: ${error.message}`);
    return [];
  }
}
