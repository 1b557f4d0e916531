/** The Service by which the API server calls taintkeeper, in the chart and in the manifests. */
export const OWN_SERVICE = 'taintkeeper';

/** The Lease for leader election. */
export const OWN_LEASE = OWN_SERVICE;

/** The namespace of the manifests. */
export const OWN_NAMESPACE = 'taintkeeper';

/** The Deployment of the manifests. */
export const OWN_DEPLOYMENT = 'taintkeeper';

/** The ServiceAccount of the manifests. */
export const OWN_ACCOUNT = 'taintkeeper';

/** The ClusterRoleBinding of the manifests. */
export const OWN_CLUSTER_ROLE_BINDING = 'taintkeeper';

/** The names of the container's ports in the manifests. */
export const WEBHOOK_PORT_NAME = 'webhook';
export const ADMIN_PORT_NAME = 'admin';

/** The label of all objects of the manifests, as a selector. */
export const OWN_LABEL = 'app.kubernetes.io/name=taintkeeper';

/** The Secret with the certificates that taintkeeper issues. */
export const OWN_SECRET = 'taintkeeper-certs';

/** The names of our webhooks and native policies end with it. Names of static native policies go on after it (src/native/manifests.ts). */
export const OWN_SUFFIX = '.taintkeeper.dev';

/** Whether the webhook or native policy is ours, by its name. */
export function isOurs(name: string): boolean {
  return name.endsWith(OWN_SUFFIX);
}

/** Such as `protect` for `protect.taintkeeper.dev`. Other names stay as they are. */
export function shortName(name: string): string {
  return isOurs(name) ? name.slice(0, -OWN_SUFFIX.length) : name;
}
