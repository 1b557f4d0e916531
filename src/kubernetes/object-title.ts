/** `nodes/n1`, `daemonsets/kube-system/flannel`. A part that is undefined is left out. */
export function objectTitle({ resource, namespace, name }: TitledObject): string {
  return [resource, namespace, name].filter((part) => part !== undefined).join('/');
}

interface TitledObject {
  /** Plural, such as `nodes`. */
  readonly resource: string;
  readonly namespace?: string | undefined;
  readonly name?: string | undefined;
}
