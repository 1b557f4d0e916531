import { parseAllDocuments } from 'yaml';

/** As much of any object as says which one it is. */
export interface KubernetesObject {
  readonly apiVersion: string;
  readonly kind: string;
  readonly metadata: {
    readonly name: string;
    readonly namespace?: string;
    readonly labels?: Readonly<Record<string, string>>;
    readonly annotations?: Readonly<Record<string, string>>;
  };
  readonly [field: string]: unknown;
}

/** The part of a Deployment that tests look into. */
export interface Deployment extends KubernetesObject {
  readonly spec: {
    readonly replicas: number;
    readonly strategy: object;
    readonly template: { readonly metadata: object; readonly spec: PodSpec };
  };
}

export interface PodSpec {
  readonly hostNetwork?: boolean;
  readonly terminationGracePeriodSeconds: number;
  readonly containers: readonly Container[];
  readonly [field: string]: unknown;
}

export interface Container {
  readonly image: string;
  readonly args: readonly string[];
  readonly env: readonly { readonly name: string; readonly value?: string }[];
  readonly resources: { readonly limits: { readonly memory: string } };
  readonly readinessProbe: {
    readonly periodSeconds: number;
    readonly timeoutSeconds: number;
    readonly failureThreshold: number;
  };
  readonly [field: string]: unknown;
}

/**
 * The objects of a multi-document YAML text, read as kubectl reads it: by YAML 1.1, in which 0440 is octal.
 * @throws Error for what is not YAML, keys that are there twice among them
 */
export function objectsOf(text: string): KubernetesObject[] {
  return parseAllDocuments(text, { version: '1.1' }).flatMap((document) => {
    const [error] = document.errors;
    if (error) throw error;
    const object = document.toJS() as KubernetesObject | null;
    return object ? [object] : [];
  });
}

/** The one Deployment among the objects, and its one container. */
export function deploymentOf(objects: readonly KubernetesObject[]): { deployment: Deployment; container: Container } {
  const [deployment, ...others] = objects.filter(({ kind }) => kind === 'Deployment') as Deployment[];
  const [container, ...more] = deployment?.spec.template.spec.containers ?? [];
  if (!deployment || !container || others.length + more.length > 0)
    throw new Error('expected one Deployment with one container');
  return { deployment, container };
}
