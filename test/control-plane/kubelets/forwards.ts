/** A port of a pod, and the local one that stands for it. */
export interface Forward {
  readonly namespace: string;
  readonly pod: string;
  readonly port: number;
  readonly target: number;
}

/** Where a port of a pod leads: the number of a local port, or undefined. */
export type FindTarget = (pod: Omit<Forward, 'target'>) => number | undefined;

/** The text of a forward in an argument, such as `default/pod-1:8080=34567`. */
export function forwardText({ namespace, pod, port, target }: Forward): string {
  return `${namespace}/${pod}:${port}=${target}`;
}

/** @throws Error for anything that {@link forwardText} does not write */
export function readForward(text: string): Forward {
  const [, namespace, pod, port, target] = /^([^/]+)\/([^:]+):(\d+)=(\d+)$/.exec(text) ?? [];
  if (!namespace || !pod) throw new Error(`${text} is not NAMESPACE/POD:PORT=TARGET`);
  return { namespace, pod, port: Number(port), target: Number(target) };
}

export function findIn(forwards: readonly Forward[]): FindTarget {
  return ({ namespace, pod, port }) =>
    forwards.find((each) => each.namespace === namespace && each.pod === pod && each.port === port)?.target;
}
