import { once } from 'node:events';
import { createServer, type IncomingMessage } from 'node:http';
import type { AddressInfo } from 'node:net';
import type { Duplex } from 'node:stream';
import { onTestFinished } from 'vitest';
import { acceptForward } from '../../../control-plane/kubelets/port-forward.ts';
import { absentStatus } from '../client/absent.ts';

/** A pod, and the local port that stands for its port 8080. Undefined: the user may not forward it. */
export type Pods = Readonly<Record<string, number | undefined>>;

export interface PortForwardingApi {
  readonly url: string;
  /** Paths of the port-forwards that were asked for. */
  readonly forwarded: string[];
  setLeader(pod: string): void;
}

/**
 * Stands for an API server: pods, the Lease, and port-forwards, which the kubelets of the end-to-end tests answer. The
 * real one is in test/e2e/dashboard.test.ts.
 */
export async function startPortForwardingApi(pods: Pods, leader: string): Promise<PortForwardingApi> {
  let holder = leader;
  const forwarded: string[] = [];
  const open = new Set<Duplex>();
  const server = createServer(({ url = '' }, response) => {
    const isLease = url.endsWith('/leases/taintkeeper');
    const body = isLease ? { spec: { holderIdentity: holder && `${holder}_uuid` } } : POD;
    const isThere = isLease || Object.keys(pods).some((pod) => url.endsWith(`/pods/${pod}`));
    response.writeHead(isThere ? 200 : 404, { 'content-type': 'application/json' });
    response.end(JSON.stringify(isThere ? body : absentStatus(url)));
  });
  server.on('upgrade', (request: IncomingMessage, socket: Duplex, head: Buffer) => {
    open.add(socket);
    const { url = '' } = request;
    forwarded.push(url);
    const [, pod = '', port = ''] = /\/pods\/([^/]+)\/portforward\?ports=(\d+)$/.exec(url) ?? [];
    const target = pods[pod];
    if (target === undefined) return void socket.end('HTTP/1.1 403 Forbidden\r\ncontent-length: 0\r\n\r\n');
    acceptForward({ request, socket, head }, Number(port), target);
  });
  server.listen(0, '127.0.0.1');
  await once(server, 'listening');
  onTestFinished(() => {
    for (const socket of open) socket.destroy();
    server.closeAllConnections();
    server.close();
  });
  return {
    url: `http://127.0.0.1:${(server.address() as AddressInfo).port}`,
    forwarded,
    setLeader(pod) {
      holder = pod;
    },
  };
}

const POD = {
  spec: {
    containers: [
      {
        ports: [
          { name: 'webhook', containerPort: 8443 },
          { name: 'admin', containerPort: 8080 },
        ],
      },
    ],
  },
};
