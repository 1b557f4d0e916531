import { isNotFound } from '../cluster/client/api-error.ts';
import { namespacedPath } from '../cluster/client/object-path.ts';
import type { Cell, FormattedExplanation, PolicyCell, Section, StateCell, Step } from '../explain/display.ts';
import { explainDaemonSet, formatDaemonSet } from '../explain/explain-daemon-set.ts';
import { explainNode, formatNode, type NodeFacts } from '../explain/explain-node.ts';
import type { Facts } from '../explain/explained-facts.ts';
import type { Taint } from '../kubernetes/taint.ts';
import type { PolicyKind } from '../policy/policy.ts';
import type { ClusterObjects, PageSources } from './page-sources.ts';

/**
 * The explanation of a node or a DaemonSet, as `taintkeeper explain` makes it: the JSON of `GET /api/explain/node/NAME` and
 * `GET /api/explain/daemonset/NAMESPACE/NAME`. Errors are plain text, with a status from 400 on.
 */
export interface ShownExplanation {
  /** When it was made, ISO 8601. */
  readonly at: string;
  readonly sections: readonly ShownSection[];
  readonly next: Step;
}

export type ShownSection =
  | {
      /** At most 100. */
      readonly lines: readonly string[];
      readonly linesLeftOut: number;
    }
  | {
      readonly head: readonly string[];
      /** At most 100. */
      readonly rows: readonly (readonly ShownCell[])[];
      readonly rowsLeftOut: number;
    };

/** Of nodes, the first few by name. */
export type ShownCell = string | StateCell | PolicyCell | { readonly nodes: readonly string[]; readonly more: number };

/** There is no explanation. The message tells the client why. */
export class UnexplainedError extends Error {
  override name = 'UnexplainedError';
  /** The status of the HTTP answer. */
  readonly statusCode: number;

  constructor(statusCode: number, message: string) {
    super(message);
    this.statusCode = statusCode;
  }
}

/** How many are made at a time. Each reads an object from the API server, and that of a DaemonSet evaluates every node. */
const MAX_AT_ONCE = 4;

const MAX_ROWS = 100;
const MAX_NODES = 3;

type Sources = Pick<PageSources, 'audit' | 'cluster' | 'objects' | 'now'>;

/**
 * @returns the explanation of `node/NAME` or `daemonset/NAMESPACE/NAME`. Requests for the same object at the same time share one
 * @throws UnexplainedError; what reading the object throws
 */
export function createExplanations(sources: Sources): (what: string) => Promise<ShownExplanation> {
  const making = new Map<string, Promise<ShownExplanation>>();
  return async (what) => {
    const [kind, ...name] = what.split('/');
    const explain = kind === 'node' ? ofNode : kind === 'daemonset' ? ofDaemonSet : undefined;
    if (!explain || name.length !== (kind === 'node' ? 1 : 2) || !name.every(isName)) {
      throw new UnexplainedError(404, 'What is explained is node/NAME and daemonset/NAMESPACE/NAME.');
    }
    const { objects } = sources;
    if (!objects) throw new UnexplainedError(404, NO_CLUSTER);
    const same = making.get(what);
    if (same) return same;
    if (making.size >= MAX_AT_ONCE) throw new UnexplainedError(503, 'Too much is being explained at the moment.');
    const made = explain({ ...sources, objects }, name).finally(() => making.delete(what));
    making.set(what, made);
    return made;
  };
}

const NO_CLUSTER =
  'This taintkeeper takes its policies from files and knows no cluster: of what it judged, it has the decisions alone.';

/** The characters of names and namespaces (RFC 1123). */
const isName = (text: string) => /^[a-z0-9]([-.a-z0-9]{0,251}[a-z0-9])?$/.test(text);

interface InCluster extends Sources {
  readonly objects: ClusterObjects;
}

async function ofNode(sources: InCluster, [name = '']: readonly string[]): Promise<ShownExplanation> {
  const object = await readOrNotFound(sources.objects.read(`/api/v1/nodes/${name}`), `There is no node ${name}.`);
  const clusterState = syncedState(sources);
  const isInConflict = clusterState && ((taint: Taint) => clusterState.isInConflict(name, taint));
  const startup = clusterState?.startupOn(name);
  const notes = clusterState ? [] : [NOT_LEADING];
  const now = sources.now();
  const facts: NodeFacts = {
    ...factsFrom(sources, ['TaintPolicy'], [...notes, NO_EVENTS]),
    now: now.getTime(),
    ...(startup === undefined ? {} : { startup }),
  };
  return shown(formatNode(explainNode(object, name, facts, isInConflict)), now);
}

async function ofDaemonSet(sources: InCluster, [namespace = '', name = '']: readonly string[]) {
  const path = namespacedPath('/apis/apps/v1', namespace, 'daemonsets', name);
  const object = await readOrNotFound(sources.objects.read(path), `There is no DaemonSet ${namespace}/${name}.`);
  const clusterState = syncedState(sources);
  if (!clusterState)
    throw new UnexplainedError(404, 'Nodes, and so where a DaemonSet runs, are known to the leader alone.');
  const notes = ['which nodes lack one of its pods is not checked here', NO_EVENTS];
  const facts = factsFrom(sources, ['TolerationPolicy', 'RecoveryPolicy', 'TaintPolicy'], notes);
  return shown(
    formatDaemonSet(explainDaemonSet(object, { namespace, name }, { ...facts, nodes: clusterState.nodes() })),
    sources.now(),
  );
}

const NO_EVENTS = 'a replica may not read Events: the command reads them, with your rights';

const NOT_LEADING =
  'this replica does not lead, and only the leader knows which taint another writer removes repeatedly';

/** What only the leader knows, on the leader, once all of it has been read. */
function syncedState({ cluster }: Sources) {
  const clusterState = cluster()?.clusterState;
  return clusterState?.isSynced() ? clusterState : undefined;
}

function factsFrom({ objects, audit }: InCluster, kinds: readonly PolicyKind[], notes: readonly string[]): Facts {
  return {
    policies: objects.policies().filter(({ kind }) => kinds.includes(kind)),
    audit,
    events: [],
    notes,
  };
}

async function readOrNotFound(object: Promise<unknown>, otherwise: string): Promise<unknown> {
  try {
    return await object;
  } catch (error) {
    throw isNotFound(error) ? new UnexplainedError(404, otherwise) : error;
  }
}

/** Limits what is shown in large clusters. */
function shown({ sections, next }: FormattedExplanation, at: Date): ShownExplanation {
  return { at: at.toISOString(), sections: sections.map(shownSection), next };
}

function shownSection(section: Section): ShownSection {
  if ('lines' in section) {
    const lines = section.lines.slice(0, MAX_ROWS);
    return { lines, linesLeftOut: section.lines.length - lines.length };
  }
  const { head, rows } = section;
  const first = rows.slice(0, MAX_ROWS);
  return { head, rows: first.map((row) => row.map(shownCell)), rowsLeftOut: rows.length - first.length };
}

function shownCell(cell: Cell): ShownCell {
  if (typeof cell === 'string' || !('nodes' in cell)) return cell;
  const nodes = cell.nodes.slice(0, MAX_NODES);
  return { nodes, more: cell.nodes.length - nodes.length };
}
