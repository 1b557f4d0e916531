import { setTimeout as delay } from 'node:timers/promises';
import { STRATEGIC_MERGE_PATCH } from '../control-plane/content-types.ts';
import type { ControlPlane } from '../control-plane/control-plane.ts';
import { nodeController } from '../control-plane/users.ts';
import { getNode, path, type Taint } from './nodes.ts';

const TICK_MS = 100;
const NODES_A_TICK = 5;
const MARK: Taint = { key: 'node.kubernetes.io/unreachable', effect: 'NoSchedule' };

/** Taints by the names of their nodes. */
export type StaleCopies = ReadonlyMap<string, readonly Taint[]>;

/** What became of the writes. */
export interface StaleWrites {
  /** All of them. */
  count: number;
  /** Those of which taintkeeper put back something. */
  patched: number;
  /** Those that failed, or whose own change is not there. */
  wrong: string[];
}

export interface StaleWriter {
  /** How often it has written every node. */
  rounds(): number;
  /** Ends after one more write to each node, which changes it: its mark is another one than in the round before. */
  stop(): Promise<StaleWrites>;
}

/** The taints of nodes as they are now, by the nodes' names. */
export async function copyTaints(cp: ControlPlane, names: readonly string[]): Promise<StaleCopies> {
  const copies = await Promise.all(names.map((name) => getNode(cp, name)));
  return new Map(copies.map(({ metadata, spec }) => [metadata.name, spec.taints ?? []]));
}

/**
 * What the node life cycle controller of Kubernetes 1.20 did: it takes the list of taints from an old copy, adds or removes its
 * own, and writes all of it, without a resourceVersion. Five nodes every 100 ms, in turn.
 */
export function startStaleWriter(cp: ControlPlane, copies: StaleCopies): StaleWriter {
  const names = [...copies.keys()];
  const writes: StaleWrites = { count: 0, patched: 0, wrong: [] };
  let round = 0;
  let stopped = false;

  async function write(name: string): Promise<void> {
    const marked = round % 2 === 0;
    const others = (copies.get(name) ?? []).filter(({ key }) => key !== MARK.key);
    const { status, body, warnings } = await cp.request<{ spec?: { taints?: Taint[] } }>(
      nodeController,
      'PATCH',
      path(name),
      {
        body: { spec: { taints: marked ? [...others, MARK] : others } },
        contentType: STRATEGIC_MERGE_PATCH,
      },
    );
    writes.count++;
    if (warnings.some((text) => text.includes('restored taint'))) writes.patched++;
    const isMarked = body.spec?.taints?.some(({ key }) => key === MARK.key) ?? false;
    if (status !== 200 || isMarked !== marked) writes.wrong.push(`${name}: ${status} ${JSON.stringify(body.spec)}`);
  }

  async function writeAll(): Promise<void> {
    for (let first = 0; first < names.length; first += NODES_A_TICK) {
      await Promise.all([delay(TICK_MS), ...names.slice(first, first + NODES_A_TICK).map(write)]);
    }
    round++;
  }

  const working = (async () => {
    while (!stopped) await writeAll();
  })();
  return {
    rounds: () => round,
    async stop() {
      stopped = true;
      await working;
      await writeAll();
      return writes;
    },
  };
}
