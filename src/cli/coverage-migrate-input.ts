import type { ApiClient } from '../cluster/client/api-client.ts';
import { ApiError } from '../cluster/client/api-error.ts';
import { listObjects } from '../cluster/watch/list-pages.ts';
import type { SchedulingNode } from '../coverage/coverage.ts';
import { type MigrationFacts, WORKLOAD_KINDS, type Workload } from '../coverage/role-facts.ts';
import { locateField, type SourceDocument } from '../files/documents.ts';
import { objectsOf } from '../files/reviewables.ts';
import { InputError } from '../files/text-files.ts';
import { viewWorkload, WORKLOAD_API_VERSIONS } from '../objects/workload-object.ts';
import { POLICY_API_VERSION, type Policy, parsePolicy } from '../policy/policy.ts';
import { at, isKind, readNode } from './coverage-input.ts';

/** What the plan is made of, and what could not be looked at. */
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
      if (kind) workloads.push(at(document, path, () => viewWorkload(kind, object, path, namespace)));
      else if (isKind(object, 'v1', 'Node')) nodes.push(at(document, path, () => readNode(object, path)));
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

const POLICY_LISTS = [
  { kind: 'TaintPolicy', resource: 'taintpolicies' },
  { kind: 'TolerationPolicy', resource: 'tolerationpolicies' },
] as const;

const NOT_FOUND = 404;

/**
 * The nodes, workloads and policies of a cluster. All workloads are needed: a plan that overlooks one may cost it its node.
 * @throws ApiError, MalformedObjectError
 */
export async function readMigration(client: ApiClient): Promise<MigrationInput> {
  const notes: string[] = [];
  const [nodes, workloads, policies] = await Promise.all([
    listObjects(client, '/api/v1/nodes', (object) => readNode(object, [])),
    Promise.all(
      WORKLOAD_LISTS.map(({ kind, path }) => listObjects(client, path, (object) => viewWorkload(kind, object, [], ''))),
    ),
    Promise.all(POLICY_LISTS.map(({ kind, resource }) => listPolicies(client, kind, resource, notes))),
  ]);
  return { facts: { nodes, workloads: workloads.flat(), policies: policies.flat() }, notes };
}

/** None where taintkeeper is not installed. */
async function listPolicies(client: ApiClient, kind: string, resource: string, notes: string[]): Promise<Policy[]> {
  try {
    const found = await listObjects(client, `/apis/${POLICY_API_VERSION}/${resource}`, (object) => object);
    return found.flatMap((object) => {
      const { apiVersion = POLICY_API_VERSION, metadata, spec } = object as Record<string, unknown>;
      const { name } = metadata as { name: string };
      const result = parsePolicy({ apiVersion, kind, metadata: { name }, spec });
      if (result.ok) return result.policy;
      notes.push(`${kind} ${name} is not valid, and was not used`);
      return [];
    });
  } catch (error) {
    if (!(error instanceof ApiError)) throw error;
    if (error.status !== NOT_FOUND) notes.push(`policies were not read: ${error.message}`);
    return [];
  }
}
