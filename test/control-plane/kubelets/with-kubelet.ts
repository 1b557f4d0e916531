const ANNOTATION = 'taintkeeper.dev/test-kubelet';

/** The annotations of a node that has a kubelet. All other nodes, and the pods on them, stay as a test made them. */
export const WITH_KUBELET: Readonly<Record<string, string>> = { [ANNOTATION]: 'true' };

export function hasKubelet(annotations: Readonly<Record<string, string>> = {}): boolean {
  return annotations[ANNOTATION] === WITH_KUBELET[ANNOTATION];
}
