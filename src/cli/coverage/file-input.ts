import { startupRulesOf } from '../../coverage/startup-rules.ts';
import type { InstalledDaemonSet, Workload } from '../../coverage/workload.ts';
import { locateField, type SourceDocument } from '../../files/documents.ts';
import { InputError } from '../../files/input-error.ts';
import { isKind, objectsOf, readNamed } from '../../files/kubernetes-objects.ts';
import { readEachFile } from '../../files/read-documents.ts';
import { isPattern } from '../../kubernetes/pattern.ts';
import { asDaemonSet, refusedTolerations } from '../../objects/daemon-set-object.ts';
import { asNode, viewNode } from '../../objects/node-object.ts';
import { viewInstalledDaemonSet } from '../../objects/workload-object.ts';
import { POLICY_API_VERSION, type Policy, type PolicyKind, parsePolicy } from '../../policy/policy.ts';
import { compilePolicies } from '../../policy/policy-set.ts';
import type { SchedulingNode } from '../../scheduling/coverage.ts';
import type { CoverageInput, CoverageReading } from './coverage-input.ts';
import { readWorkload } from './workloads.ts';

/**
 * The Nodes, workloads and policies of files. A file that cannot be read does not hide the others: see {@link CoverageInput.unread}.
 * @param namespaces that are requested
 * @throws InputError for objects that occur twice
 */
export async function readFiles(
  files: readonly string[],
  namespaces: readonly string[],
  reading: CoverageReading,
): Promise<CoverageInput> {
  const namespace = absentNamespace(namespaces);
  const { found, faults } = await readEachFile(files, (documents) =>
    documents.flatMap((document) => readObjects(document, namespace, reading.policies)),
  );
  return coverageFrom(found.flat(), faults, reading);
}

/** The namespace of manifests that name none: the requested one, where exactly one is requested. */
function absentNamespace([only = 'default', ...others]: readonly string[]): string {
  return others.length > 0 || isPattern(only) ? 'default' : only;
}

/** An object of a file, with its place. */
type FileObject =
  | { readonly node: SchedulingNode; readonly place: string }
  | { readonly policy: ReturnType<typeof parsePolicy>; readonly kind: PolicyKind; readonly place: string }
  | { readonly workload: Workload }
  | { readonly daemonSet: InstalledDaemonSet; readonly place: string; readonly problems: readonly string[] };

/**
 * The Nodes, workloads and policies of a document.
 * @param namespace of the workloads that name none
 * @param kinds of the policies to read
 * @throws InputError for objects that cannot be read
 */
function readObjects(document: SourceDocument, namespace: string, kinds: readonly PolicyKind[]): FileObject[] {
  return objectsOf(document).flatMap(({ object, path }): FileObject[] => {
    const place = document.locate(path);
    if (isKind(object, 'v1', 'Node')) {
      return [{ node: readNamed(document, path, () => viewNode(asNode(object, path), '')), place }];
    }
    const kind = kinds.find((one) => isKind(object, POLICY_API_VERSION, one));
    if (kind) return [{ policy: parsePolicy(object), kind, place }];
    if (!isKind(object, 'apps/v1', 'DaemonSet')) {
      const workload = readWorkload(document, object, path, namespace);
      return workload ? [{ workload }] : [];
    }
    const { refused, ...daemonSet } = readNamed(document, path, () => ({
      ...viewInstalledDaemonSet(object, path, namespace),
      refused: refusedTolerations(asDaemonSet(object, path)),
    }));
    const problems = refused.map(
      (problem) => `${locateField(document, [...path, ...problem.path])}: ${problem.message}`,
    );
    return [{ daemonSet, place, problems }];
  });
}

/**
 * @param unread why files could not be read
 * @throws InputError for objects that occur twice
 */
function coverageFrom(
  objects: readonly FileObject[],
  unread: readonly string[],
  reading: CoverageReading,
): CoverageInput {
  const daemonSets = new Map<string, { daemonSet: InstalledDaemonSet; problems: readonly string[] }>();
  const nodes = new Map<string, SchedulingNode>();
  const workloads: Workload[] = [];
  const policies: Policy[] = [];
  const notes: string[] = [];
  for (const object of objects) {
    if ('node' in object) add(nodes, object.node.name, object.node, `${object.place}: Node`);
    else if ('workload' in object) workloads.push(object.workload);
    else if ('policy' in object) {
      if (object.policy.ok) policies.push(object.policy.policy);
      else notes.push(`${object.place}: ${object.kind} is left out: ${object.policy.problems[0]?.message}`);
    } else {
      const { namespace, name } = object.daemonSet;
      add(daemonSets, `${namespace}/${name}`, object, `${object.place}: DaemonSet`);
    }
  }
  const compared = [...daemonSets.values()];
  const { taintPolicies, tolerationPolicies } = compilePolicies(policies);
  return {
    daemonSets: compared.filter(({ problems }) => problems.length === 0).map(({ daemonSet }) => daemonSet),
    refused: compared
      .filter(({ problems }) => problems.length > 0)
      .map(({ daemonSet: { namespace, name }, problems }) => ({ namespace, name, problems })),
    unread,
    nodes: [...nodes.values()],
    placements: new Map(),
    tolerationPolicies,
    ...(reading.workloads ? { workloads } : {}),
    startup: startupRulesOf(taintPolicies),
    notes,
  };

  function add<T>(objects: Map<string, T>, name: string, value: T, place: string): void {
    if (objects.has(name)) throw new InputError([...unread, `${place} ${name} is there twice`]);
    objects.set(name, value);
  }
}
