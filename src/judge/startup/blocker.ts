import type { Taint } from '../../kubernetes/taint.ts';

/** Why a startup taint stays on a node: a part of `readyWhen` that does not hold there, or of which it is not known whether it does. */
export interface Blocker {
  /** After "waits for", for example `DaemonSet kube-system/cilium: its pod is not Ready`. */
  readonly text: string;
  readonly state: BlockerState;
  /** For a DaemonSet without a pod on the node: the taints there that it does not tolerate. */
  readonly keptOff?: KeptOffDaemonSet;
}

export interface KeptOffDaemonSet {
  /** `NAMESPACE/NAME` */
  readonly name: string;
  readonly by: readonly Taint[];
}

export type BlockerState =
  /** The part does not hold. */
  | 'Unmet'
  /** The leader has not read yet what the part depends on. */
  | 'Unread'
  /** Taintkeeper has no permission to read what the part depends on. */
  | 'NotPermitted'
  /** The leader cannot read an object that the part depends on, until a writer changes the object. */
  | 'Unreadable'
  /** The policy has a part that this version does not know. */
  | 'Unknown';

export function unmet(text: string): Blocker {
  return { text, state: 'Unmet' };
}

/** What a part depends on, or why it was not read. */
export type Found<T> = { readonly value: T } | Unfound;
export type Unfound = Extract<BlockerState, 'Unread' | 'NotPermitted'>;

/** @param what in the plural, for example `pods` */
export function unfound(part: string, what: string, state: Unfound): Blocker {
  switch (state) {
    case 'Unread':
      return { text: `${part}: the ${what} have not been read yet`, state };
    case 'NotPermitted':
      return { text: `${part}: taintkeeper has no permission to read the ${what}`, state };
  }
}

/** All of them, after "waits for". */
export function blockersText(blockers: readonly Blocker[]): string {
  return blockers.map(({ text }) => text).join(', and ');
}
