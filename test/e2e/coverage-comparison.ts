import { asNode, viewNode } from '../../src/objects/node-object.ts';
import { viewInstalledDaemonSet } from '../../src/objects/workload-object.ts';
import { type Coverage, compileCoverage } from '../../src/scheduling/coverage.ts';
import { formatObstacle } from '../../src/scheduling/obstacle.ts';
import type { ControlPlane } from '../control-plane/control-plane.ts';
import { admin } from '../control-plane/users.ts';
import { waitUntil } from '../control-plane/wait-until.ts';

const CONTROLLERS_TIMEOUT_MS = 30_000;

interface Pod {
  metadata: { labels: { app: string }; deletionTimestamp?: string };
  spec: { nodeName?: string };
}

interface DaemonSet {
  metadata: { generation: number };
  status: { observedGeneration?: number; desiredNumberScheduled: number; numberMisscheduled: number };
}

/** A DaemonSet with a pod on a node. */
export const pair = (daemonSet: string, node: string) => `${daemonSet} on ${node}`;

/**
 * Waits until every DaemonSet of a namespace has a pod exactly where coverage says, and its status counts the same.
 *
 * @param before where pods were when the nodes last changed, as {@link pair}s
 * @returns where pods are
 * @throws Error with all pairs that still disagree after 30 s
 */
export async function agreement(
  cp: ControlPlane,
  namespace: string,
  before: ReadonlySet<string>,
): Promise<ReadonlySet<string>> {
  let disagreements: string[] = [];
  return waitUntil(
    async () => {
      const there = await podsThere(cp, namespace);
      disagreements = await compare(cp, namespace, before, there);
      return disagreements.length === 0 ? there : undefined;
    },
    { timeoutMs: CONTROLLERS_TIMEOUT_MS, otherwise: () => disagreements.join('\n') },
  );
}

async function podsThere(cp: ControlPlane, namespace: string): Promise<Set<string>> {
  const pods = await list<Pod>(cp, `/api/v1/namespaces/${namespace}/pods`);
  return new Set(
    pods
      .filter(({ metadata }) => metadata.deletionTimestamp === undefined)
      .flatMap(({ metadata, spec }) => (spec.nodeName ? [pair(metadata.labels.app, spec.nodeName)] : [])),
  );
}

async function compare(
  cp: ControlPlane,
  namespace: string,
  before: ReadonlySet<string>,
  there: ReadonlySet<string>,
): Promise<string[]> {
  const nodes = (await list(cp, '/api/v1/nodes')).map((node, index) => viewNode(asNode(node, [index]), ''));
  const objects = await list<DaemonSet>(cp, `/apis/apps/v1/namespaces/${namespace}/daemonsets`);
  const daemonSets = objects.map((object, index) => ({
    ...viewInstalledDaemonSet(object, [index], 'default'),
    object,
  }));
  const rows = daemonSets.flatMap((daemonSet) => {
    const coverageOn = compileCoverage(daemonSet);
    return nodes.map((node) => ({ daemonSet, name: pair(daemonSet.name, node.name), coverage: coverageOn(node) }));
  });

  const misplaced = rows.filter(({ name, coverage }) => {
    const expected = coverage.runs || (coverage.staysIfThere && before.has(name));
    return expected !== there.has(name);
  });
  const miscounted = daemonSets.flatMap((daemonSet) => {
    const { metadata, status } = daemonSet.object;
    const own = rows.filter((row) => row.daemonSet === daemonSet);
    const counted = {
      observedGeneration: metadata.generation,
      desiredNumberScheduled: own.filter(({ coverage }) => coverage.runs).length,
      numberMisscheduled: own.filter(({ name, coverage }) => !coverage.runs && there.has(name)).length,
    };
    const { observedGeneration, desiredNumberScheduled, numberMisscheduled } = status;
    const theirs = JSON.stringify({ observedGeneration, desiredNumberScheduled, numberMisscheduled });
    const ours = JSON.stringify(counted);
    return theirs === ours ? [] : [`${daemonSet.name}: its status has ${theirs}, not ${ours}`];
  });
  return [
    ...misplaced.map(
      ({ name, coverage }) => `${name}: ${there.has(name) ? 'a pod' : 'no pod'}, but ${explain(coverage)}`,
    ),
    ...miscounted,
  ];
}

function explain(coverage: Coverage): string {
  return coverage.runs ? 'nothing keeps it off' : coverage.obstacles.map(formatObstacle).join('; ');
}

async function list<Item>(cp: ControlPlane, url: string): Promise<Item[]> {
  return (await cp.request<{ items: Item[] }>(admin, 'GET', url)).body.items;
}
