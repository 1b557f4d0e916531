import { readFileSync } from 'node:fs';
import { createServer } from 'node:https';
import { parseArgs } from 'node:util';
import { pino } from 'pino';
import { connect } from '../../../src/cluster/client/api-client.ts';
import { findIn, readForward } from './forwards.ts';
import { keepLeases } from './leases.ts';
import { followNodes } from './nodes.ts';
import { followPods } from './pods.ts';
import { answerPortForwards } from './port-forward.ts';

/**
 * The kubelets of all nodes that have one (see with-kubelet.ts), as one process: it makes nodes Ready, renews their Leases, runs
 * their pods without any containers, and forwards ports. A process of its own, so that heartbeats go on while a test is busy.
 * It goes on until it is killed, whatever the API server does.
 */
const { values } = parseArgs({
  options: {
    kubeconfig: { type: 'string', default: '' },
    'lease-seconds': { type: 'string', default: '' },
    port: { type: 'string', default: '' },
    'tls-cert-file': { type: 'string', default: '' },
    'tls-private-key-file': { type: 'string', default: '' },
    forward: { type: 'string', multiple: true, default: [] },
  },
});

const client = await connect({ kubeconfig: values.kubeconfig, userAgent: 'kubelets' });
const surroundings = { client, log: pino({ base: null }) };
const nodes = followNodes(surroundings, (name) => {
  leases.keep(name);
  pods.takeUp(name);
});
const leases = keepLeases(surroundings, Number(values['lease-seconds']) * 1_000, nodes.uidOf);
const pods = followPods(surroundings, (node) => nodes.uidOf(node) !== undefined);

let isWell = false;
const server = createServer(
  { cert: readFileSync(values['tls-cert-file']), key: readFileSync(values['tls-private-key-file']) },
  (_request, response) => response.writeHead(isWell ? 200 : 503).end(),
);
answerPortForwards(server, findIn(values.forward.map(readForward)));
server.listen(Number(values.port), '127.0.0.1');
await Promise.all([nodes.synced, pods.synced]);
isWell = true;
