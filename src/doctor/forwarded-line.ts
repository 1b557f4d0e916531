import { Duplex } from 'node:stream';
import type { KubeConfig } from '@kubernetes/client-node/dist/config.js';

/** What a port-forward is made through. */
export interface Forwarding {
  /** A connection to a port of a pod, made by its kubelet: it goes past the Service and NetworkPolicies. */
  open(namespace: string, pod: string, port: number): Promise<Duplex>;
}

/** The channels of `v4.channel.k8s.io` for the first forwarded port (k8s.io/kubelet/pkg/cri/streaming/portforward). */
const DATA_CHANNEL = 0;
const ERROR_CHANNEL = 1;
/** Each channel begins with the port's number. */
const PORT_BYTES = 2;

export function forwarding(config: KubeConfig): Forwarding {
  return {
    async open(namespace, pod, port) {
      const { WebSocketHandler } = await import('@kubernetes/client-node/dist/web-socket-handler.js');
      const path = `/api/v1/namespaces/${namespace}/pods/${pod}/portforward?ports=${port}`;
      const begun = new Set<number>();
      let socket: { send(data: Buffer, done: (error?: Error) => void): void; close(): void } | undefined;
      const line = new Duplex({
        read() {},
        write(chunk: Buffer, _encoding, done) {
          socket?.send(Buffer.concat([Buffer.from([DATA_CHANNEL]), chunk]), done);
        },
        final(done) {
          socket?.close();
          done();
        },
        destroy(error, done) {
          socket?.close();
          done(error);
        },
      });
      // Until somebody reads it.
      line.on('error', () => {});
      const opened = await new WebSocketHandler(config).connect(path, null, (channel, received) => {
        const data = begun.has(channel) ? received : received.subarray(PORT_BYTES);
        begun.add(channel);
        if (data.length === 0) return true;
        if (channel === DATA_CHANNEL) line.push(data);
        else if (channel === ERROR_CHANNEL) line.destroy(new Error(data.toString().trim()));
        return true;
      });
      opened.onclose = () => line.push(null);
      socket = opened;
      return line;
    },
  };
}
