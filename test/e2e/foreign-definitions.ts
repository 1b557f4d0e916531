/**
 * Just enough of other projects' CustomResourceDefinitions for their objects to be accepted: `spec` is not looked into, so
 * a misspelt field in it is not found.
 */
export const FOREIGN_DEFINITIONS = [
  definition('cert-manager.io', 'v1', 'Certificate', 'certificates'),
  definition('cert-manager.io', 'v1', 'Issuer', 'issuers'),
  definition('monitoring.coreos.com', 'v1', 'ServiceMonitor', 'servicemonitors'),
  definition('monitoring.coreos.com', 'v1', 'PrometheusRule', 'prometheusrules'),
];

/** One of any project, for namespaced objects. */
export function definition(group: string, version: string, kind: string, plural: string): object {
  const openAPIV3Schema = {
    type: 'object',
    properties: { spec: { type: 'object', 'x-kubernetes-preserve-unknown-fields': true } },
  };
  return {
    apiVersion: 'apiextensions.k8s.io/v1',
    kind: 'CustomResourceDefinition',
    metadata: { name: `${plural}.${group}` },
    spec: {
      group,
      scope: 'Namespaced',
      names: { kind, plural, singular: kind.toLowerCase(), listKind: `${kind}List` },
      versions: [{ name: version, served: true, storage: true, schema: { openAPIV3Schema } }],
    },
  };
}
