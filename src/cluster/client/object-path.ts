/**
 * The path of a resource in a namespace, or of one of its objects.
 * @param api `/api/v1`, `/apis/apps/v1`
 * @param resource in the plural, such as `daemonsets`
 */
export function namespacedPath(api: string, namespace: string, resource: string, name?: string): string {
  const collection = `${api}/namespaces/${encodeURIComponent(namespace)}/${resource}`;
  return name === undefined ? collection : `${collection}/${encodeURIComponent(name)}`;
}
