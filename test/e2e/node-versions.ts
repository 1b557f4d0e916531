import { type V1Node, Watch } from '@kubernetes/client-node';
import { formatTaint } from '../../src/kubernetes/taint.ts';

import type { ControlPlane } from '../control-plane/control-plane.ts';
import { admin } from '../control-plane/users.ts';
import { waitUntil } from '../control-plane/wait-until.ts';

const CAUGHT_UP_TIMEOUT_MS = 10_000;

/** A node as it was once. */
export interface NodeVersion {
  readonly resourceVersion: string;
  /** All of them, as kubectl writes them. */
  readonly taints: readonly string[];
  readonly labels: Readonly<Record<string, string>>;
  readonly annotations: Readonly<Record<string, string>>;
}

/** Every version that any node has had since the watch began. */
export interface NodeVersions {
  /** The versions of a node, the oldest first. */
  of(name: string): readonly NodeVersion[];
  /** How many nodes are, as they were last seen, like this. */
  count(isSo: (version: NodeVersion) => boolean): number;
  /** Waits until all is seen that the API server has. */
  caughtUp(): Promise<void>;
  stop(): Promise<void>;
}

/** A watch of its own, which taintkeeper has no part in, that begins with the nodes as they are. */
export async function watchNodeVersions(cp: ControlPlane): Promise<NodeVersions> {
  const versions = new Map<string, NodeVersion[]>();
  const client = await cp.client(admin);
  let failure: unknown;
  let stopped = false;
  const list = () =>
    cp.request<{ metadata: { resourceVersion: string }; items: V1Node[] }>(admin, 'GET', '/api/v1/nodes');
  const add = (node: V1Node) => {
    const name = node.metadata?.name ?? '';
    versions.set(name, [...(versions.get(name) ?? []), versionOf(node)]);
  };

  const { body } = await list();
  body.items.forEach(add);
  /** The API server ends the watch of a client that is too slow for it: it goes on where it was, and nothing is missed. */
  let seen = body.metadata.resourceVersion;
  const watch = () =>
    new Watch(client).watch(
      '/api/v1/nodes',
      { resourceVersion: seen },
      (type, object: V1Node) => {
        if (type === 'ERROR') failure = new Error(JSON.stringify(object));
        else add(object);
        seen = object.metadata?.resourceVersion ?? seen;
      },
      (error: Error | null) => {
        // Nor is one that has had nothing to say for a while.
        if (error && error.name !== 'TimeoutError') failure ??= error;
        if (!stopped && !failure) watching = watch();
      },
    );
  let watching = watch();
  await watching;
  const checkWatch = () => {
    if (failure) throw failure;
  };
  return {
    of: (name) => versions.get(name) ?? [],
    count(isSo) {
      checkWatch();
      return [...versions.values()].filter((all) => all.slice(-1).some(isSo)).length;
    },
    async caughtUp() {
      const { items } = (await list()).body;
      const isSeen = ({ metadata }: V1Node) =>
        (versions.get(metadata?.name ?? '') ?? []).some((one) => one.resourceVersion === metadata?.resourceVersion);
      await waitUntil(
        () => {
          checkWatch();
          return items.every(isSeen) || undefined;
        },
        { timeoutMs: CAUGHT_UP_TIMEOUT_MS, otherwise: () => 'the watch lags behind' },
      );
    },
    async stop() {
      stopped = true;
      (await watching).abort();
    },
  };
}

function versionOf({ metadata = {}, spec = {} }: V1Node): NodeVersion {
  const { resourceVersion = '', labels = {}, annotations = {} } = metadata;
  return { resourceVersion, taints: (spec.taints ?? []).map(formatTaint), labels, annotations };
}
