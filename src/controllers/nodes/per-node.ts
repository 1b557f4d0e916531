/** What the parts of this controller keep of nodes, by their names. A Node that was deleted leaves nothing in any of them. */
export interface PerNode {
  /** An empty map that {@link forget} reaches. */
  map<T>(): Map<string, T>;
  /** @returns whether something was kept of the node */
  forget(node: string): boolean;
}

export function perNode(): PerNode {
  const maps: Map<string, unknown>[] = [];
  return {
    map<T>() {
      const map = new Map<string, T>();
      maps.push(map);
      return map;
    },
    forget(node) {
      let wasKept = false;
      for (const map of maps) wasKept = map.delete(node) || wasKept;
      return wasKept;
    },
  };
}
