/** The object of an Event. */
export interface ObjectReference {
  readonly apiVersion: string;
  readonly kind: string;
  readonly name: string;
  /** Absent for a cluster-scoped object. */
  readonly namespace?: string;
  /** kubectl finds the Events of an object by it. Looked up if absent. */
  readonly uid?: string;
}

export function nodeReference({ name, uid }: { readonly name: string; readonly uid: string }): ObjectReference {
  return { apiVersion: 'v1', kind: 'Node', name, uid };
}

export function daemonSetReference({
  namespace,
  name,
  uid,
}: {
  readonly namespace: string;
  readonly name: string;
  readonly uid: string;
}): ObjectReference {
  return { apiVersion: 'apps/v1', kind: 'DaemonSet', namespace, name, uid };
}

/** The Event's namespace: that of its object, `default` for a cluster-scoped one (as client-go's event recorder). */
export function namespaceOf({ namespace }: ObjectReference): string {
  return namespace || 'default';
}
