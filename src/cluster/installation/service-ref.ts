/** The Service by which the API server calls the webhook. */
export interface ServiceRef {
  readonly namespace: string;
  readonly name: string;
  readonly port: number;
}

/** The server name of the API server in the TLS handshake (k8s.io/apiserver/pkg/util/webhook, `clientConfigForService`). */
export function serverName({ namespace, name }: Pick<ServiceRef, 'namespace' | 'name'>): string {
  return `${name}.${namespace}.svc`;
}

type ServiceName = Pick<ServiceRef, 'namespace' | 'name'>;

export function isSameService(one: ServiceName, other: ServiceName): boolean {
  return one.namespace === other.namespace && one.name === other.name;
}
