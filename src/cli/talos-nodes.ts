import { text } from 'node:stream/consumers';
import { connect } from '../cluster/client/api-client.ts';
import type { ClusterChoice } from '../cluster/client/kube-config.ts';
import { listPages } from '../cluster/watch/list-pages.ts';
import { parseDocuments } from '../files/documents.ts';
import { reviewablesOf } from '../files/reviewables.ts';
import { InputError, readText } from '../files/text-files.ts';
import { MalformedObjectError } from '../objects/object-meta.ts';
import { asLiveNode, type LiveNode } from '../talos/live-node.ts';
import { VERSION } from '../version.ts';

/** A Node has 30 to 60 KB: never more than these are in memory. */
const PAGE_SIZE = 250;

/**
 * The nodes of the cluster that the kubeconfig names.
 * @param labelSelector as the API server takes it; without one, every node
 * @throws InputError when the cluster does not answer, or refuses
 */
export async function nodesOfCluster(choice: ClusterChoice, labelSelector: string | undefined): Promise<LiveNode[]> {
  const client = await connect({ ...choice, userAgent: `taintkeeper/${VERSION}` });
  const nodes: LiveNode[] = [];
  try {
    const options = { query: { labelSelector }, pageSize: PAGE_SIZE, signal: new AbortController().signal };
    for await (const { items } of listPages(client, '/api/v1/nodes', options)) {
      for (const item of items) nodes.push(asLiveNode(item, []));
    }
    return nodes;
  } catch (error) {
    throw new InputError([(error as Error).message]);
  } finally {
    client.close();
  }
}

/**
 * The nodes in a file, as `kubectl get nodes -o yaml` writes them; `-` is standard input.
 * @throws InputError for a file that cannot be read, with the place of a Node that is none
 */
export async function nodesOfFile(file: string): Promise<LiveNode[]> {
  const documents =
    file === '-'
      ? parseDocuments(await text(process.stdin), 'standard input')
      : parseDocuments(await readText(file), file);
  const { reviewables } = reviewablesOf(documents, { username: '', groups: [], namespace: '' });
  return reviewables
    .filter(({ request }) => request.resource.resource === 'nodes')
    .map(({ request, locate }) => {
      try {
        return asLiveNode(request.object, ['request', 'object']);
      } catch (error) {
        if (!(error instanceof MalformedObjectError)) throw error;
        throw new InputError([`${locate(error.path)}: ${error.problem}`]);
      }
    });
}
