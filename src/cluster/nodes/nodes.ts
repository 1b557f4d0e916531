import type { NodeView } from '../../judge/node-view.ts';
import { asNode, viewNode } from '../../objects/node-object.ts';
import type { ApiClient } from '../client/api-client.ts';
import { listObjects } from '../list/list-objects.ts';

/** The nodes of the cluster. @throws ApiError, MalformedObjectError */
export function listNodes(client: ApiClient): Promise<NodeView[]> {
  return listObjects(client, '/api/v1/nodes', (object) => viewNode(asNode(object, []), ''));
}
