import type { Found } from '../../../judge/startup/blocker.ts';
import { type Run, startControllerReconciler } from '../../controller.ts';
import { type WatchesByNode, type WatchesByNodeOptions, watchByNode } from './watches-by-node.ts';

/** For how long a node keeps its own watch while others are queued, in milliseconds, once its objects were read. Some nodes are never ready. */
const TURN_MS = 30_000;
/** How often turns end while nodes are queued. */
const TURN_CHECK_MS = 10_000;

/** Watches of the objects of single nodes. If too many nodes need one, they get it in turn. */
export interface OwnWatchTurns<T> extends Pick<WatchesByNode<T>, 'has' | 'share' | 'unshare'> {
  /** The objects of the node. Starts to watch them, until {@link end} or the end of its turn. Undefined if the node has to wait, or shares a watch. */
  readOrWatch(node: string): Found<readonly T[]> | undefined;
  /**
   * The node waits for its turn, and shares no watch. `onChange` is called when its turn has come. It waits until {@link readOrWatch} begins its watch, or
   * until {@link leave} or {@link end}.
   */
  queue(node: string): void;
  isQueued(node: string): boolean;
  /** The node waits for its turn no more. A watch of its own stays. */
  leave(node: string): void;
  end(node: string): void;
  stop(): Promise<void>;
}

export function watchInTurn<T>(run: Run, options: Omit<WatchesByNodeOptions<T>, 'onRead'>): OwnWatchTurns<T> {
  const { onChange } = options;
  const watches = watchByNode<T>(run, { ...options, onRead: (node) => void readSince.set(node, performance.now()) });
  /** Since when the objects of nodes are known by watches of their own, in the order of time, by performance.now(). */
  const readSince = new Map<string, number>();
  /** The nodes that get watches of their own in turn. A node stays here until it has one, or needs none. */
  const queued = new Set<string>();
  const turns = startControllerReconciler(run, 'startup-turns', endTurns);

  return {
    has: watches.has,
    share: watches.share,
    unshare: watches.unshare,
    readOrWatch(node) {
      const found = watches.has(node) || isNext(node) ? watches.readOrWatch(node) : undefined;
      // The nodes behind it gain nothing: the watch that was free for it is taken.
      if (found !== undefined) queued.delete(node);
      return found;
    },
    queue(node) {
      watches.unshare(node);
      queued.add(node);
      turns.trigger(TURN_CHECK_MS);
    },
    isQueued: (node) => queued.has(node),
    leave(node) {
      if (queued.delete(node)) promote();
    },
    end,
    stop: async () => void (await Promise.all([turns.stop(), watches.stop()])),
  };

  function end(node: string): void {
    queued.delete(node);
    endWatch(node);
    promote();
  }

  /** @returns in how many milliseconds the next turns may end */
  async function endTurns(): Promise<number | undefined> {
    if (queued.size === 0) return undefined;
    const needed = Math.max(0, queued.size - watches.free());
    for (const node of readFor(TURN_MS).slice(0, needed)) {
      endWatch(node);
      queued.add(node);
    }
    promote();
    return TURN_CHECK_MS;
  }

  /** The nodes whose objects have been read for so many milliseconds, the oldest watch first. */
  function readFor(ms: number): string[] {
    const latest = performance.now() - ms;
    return [...readSince].filter(([, since]) => since <= latest).map(([node]) => node);
  }

  function endWatch(node: string): void {
    watches.end(node);
    readSince.delete(node);
  }

  function promote(): void {
    for (const node of nextNodes()) onChange(node);
  }

  function isNext(node: string): boolean {
    return queued.has(node) ? nextNodes().includes(node) : watches.free() > queued.size;
  }

  /** The nodes that the free watches are for: the first ones that are queued. */
  function nextNodes(): string[] {
    const free = watches.free();
    // Each step of a node that does not wait asks for them, and thousands may be queued.
    return free === 0 ? [] : [...queued].slice(0, free);
  }
}
