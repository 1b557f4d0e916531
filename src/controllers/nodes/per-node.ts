/**
 * What the parts of this controller keep of nodes, by their names. {@link forget} removes all of it. Only `startup-pods.ts` notes when a Node was deleted.
 */
export interface PerNode {
  /** An empty map that {@link forget} reaches. */
  map<T>(): Map<string, T>;
  /** Calls the listener with each node that is forgotten. */
  onForget(listener: (node: string) => void): void;
  /** @returns whether one of the maps had something of the node */
  forget(node: string): boolean;
}

export function perNode(): PerNode {
  const maps: Map<string, unknown>[] = [];
  const listeners: ((node: string) => void)[] = [];
  return {
    map<T>() {
      const map = new Map<string, T>();
      maps.push(map);
      return map;
    },
    onForget: (listener) => void listeners.push(listener),
    forget(node) {
      for (const listener of listeners) listener(node);
      let wasKept = false;
      for (const map of maps) wasKept = map.delete(node) || wasKept;
      return wasKept;
    },
  };
}
