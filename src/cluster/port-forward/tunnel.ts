import { type Duplex, duplexPair } from 'node:stream';
import { importKubeConfig, importWebSocketHandler, type WebSocketHandler } from '../client/client-node.ts';
import { type ClusterChoice, findConfig, loadConfig } from '../client/kube-config.ts';
import { namespacedPath } from '../client/object-path.ts';

/** The channels of one forwarded port. */
const DATA = 0;
const ERROR = 1;
/** The first message of each channel begins with the port's number. */
const PORT_BYTES = 2;

/** Limit for the connection of a WebSocket and its handshake. Without one, a handshake that gets no answer keeps the process alive. */
const OPEN_TIMEOUT_MS = 5_000;

/** Limit for the answer to the close of a WebSocket, of which nothing is read. The default of `ws` is 30 s, which the process would wait. */
const CLOSE_TIMEOUT_MS = 1_000;

/**
 * What {@link openTunnel} needs for WebSockets to the cluster. It is loaded on demand, because few commands use WebSockets.
 * @throws InputError if the configuration cannot be used
 */
export async function webSocketHandler(
  choice: ClusterChoice,
  { openMs = OPEN_TIMEOUT_MS, closeMs = CLOSE_TIMEOUT_MS } = {},
): Promise<WebSocketHandler> {
  const { KubeConfig } = await importKubeConfig();
  const { WebSocketHandler } = await importWebSocketHandler();
  const config = loadConfig(findConfig(choice), KubeConfig);
  const applyCredentials = config.applyToHTTPSOptions.bind(config);
  // The handler passes these options to the package `ws`.
  config.applyToHTTPSOptions = async (options) => {
    await applyCredentials(options);
    Object.assign(options, { handshakeTimeout: openMs, closeTimeout: closeMs });
  };
  return new WebSocketHandler(config);
}

/**
 * A connection to a port of a pod, by the `portforward` subresource over a WebSocket: `v4.channel.k8s.io`, where the first byte of
 * each message names the channel (k8s.io/cri-streaming/pkg/streaming/portforward). It needs the rights to `get` and, from Kubernetes 1.35 on, to
 * `create` pods/portforward. The class PortForward of the client does the same with this handler. It is not used, because it imports all
 * generated APIs: 1 MB of the bundle, and 0.3 s at start.
 * @throws Error with the cause
 */
export async function openTunnel(
  handler: Pick<WebSocketHandler, 'connect'>,
  { namespace, pod, port }: { readonly namespace: string; readonly pod: string; readonly port: number },
): Promise<Duplex> {
  const [near, far] = duplexPair();
  // It may fail before its caller listens for errors, which must not end the program.
  near.on('error', () => {});
  const begun = new Set<number>();
  const path = `${namespacedPath('/api/v1', namespace, 'pods', pod)}/portforward?ports=${port}`;

  const take = (channel: number, message: Buffer): boolean => {
    const bytes = begun.has(channel) ? message : message.subarray(PORT_BYTES);
    begun.add(channel);
    if (bytes.length === 0 || near.destroyed) return true;
    if (channel === DATA) far.write(bytes);
    if (channel === ERROR) near.destroy(new Error(`port ${port} of pod ${pod}: ${bytes.toString()}`));
    return true;
  };
  const socket = await handler.connect(path, null, take).catch((error: { readonly message?: string }) => {
    throw new Error(`cannot forward port ${port} of pod ${pod}: ${error.message}${remedyFor(error.message)}`);
  });
  // The kubelet may have answered before the caller of `connect` is told that it is connected.
  if (near.errored) {
    socket.close();
    throw near.errored;
  }
  far.on('data', (bytes: Buffer) => socket.send(Buffer.concat([Buffer.of(DATA), bytes])));
  near.once('close', () => {
    socket.close();
    far.destroy();
  });
  socket.onclose = () => void far.end();
  return near;
}

function remedyFor(message = ''): string {
  return /\b403\b/.test(message) ? '; it needs permission to get and create pods/portforward' : '';
}
