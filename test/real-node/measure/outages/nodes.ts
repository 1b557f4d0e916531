import { setTimeout as delay } from 'node:timers/promises';
import type { RealNode } from '../../real-node.ts';
import type { Outage, Site } from '../outage.ts';

/** A node that is gone counts as Ready for 50 s, and its replica gets connections for as long. */
const LINK_DOWN_MS = 70_000;
const ONE_WAY_MS = 30_000;
const WITHOUT_POWER_MS = 20_000;
const CONTAINERD_STOPPED_MS = 10_000;

/** What happens to the node whose replica is called. */
export const nodeOutages: readonly Outage[] = [
  {
    name: 'link-down',
    what: `the node whose replica is called is off the wire for ${LINK_DOWN_MS / 1000} s`,
    called: 'n2',
    async run(site) {
      await second(site).setLink('down');
      await delay(LINK_DOWN_MS);
      await second(site).setLink('up');
    },
  },
  {
    name: 'one-way',
    what: `nothing arrives at that node for ${ONE_WAY_MS / 1000} s; what it sends does`,
    called: 'n2',
    async run(site) {
      const rule = ['PREROUTING', '-i', 'eth0', '-j', 'DROP'];
      await second(site).run(['iptables', '-w', '-t', 'mangle', '-I', ...rule]);
      await delay(ONE_WAY_MS);
      await second(site).run(['iptables', '-w', '-t', 'mangle', '-D', ...rule]);
    },
  },
  {
    name: 'power-cut',
    what: `that node has no power for ${WITHOUT_POWER_MS / 1000} s`,
    called: 'n2',
    async run(site) {
      await second(site).cutPower();
      await delay(WITHOUT_POWER_MS);
      await second(site).powerOn();
    },
  },
  {
    name: 'shutdown',
    what: 'that node shuts down in good order, and starts again',
    called: 'n2',
    async run(site) {
      await second(site).announceShutdown();
      await second(site).cutPower();
      await second(site).powerOn();
    },
  },
  {
    name: 'kill-kubelet',
    what: 'SIGKILL of its kubelet, started again after 1 s',
    called: 'n2',
    run: async (site) => second(site).service('kubelet').signal('SIGKILL'),
  },
  {
    name: 'stop-containerd',
    what: `its containerd is stopped for ${CONTAINERD_STOPPED_MS / 1000} s`,
    called: 'n2',
    async run(site) {
      const containerd = second(site).service('containerd');
      await containerd.stop();
      await delay(CONTAINERD_STOPPED_MS);
      containerd.start();
    },
  },
];

/** What the API server needs, on the first node. */
export const controlPlaneOutages: readonly Outage[] = [
  {
    name: 'kill-kube-proxy',
    what: "SIGKILL of the API server's kube-proxy, started again after 1 s",
    called: 'n2',
    run: async (site) => first(site).service('kube-proxy').signal('SIGKILL'),
  },
  {
    name: 'kill-api-server',
    what: 'SIGKILL of the API server, started again after 1 s',
    called: 'n2',
    run: async (site) => first(site).service('kube-apiserver').signal('SIGKILL'),
  },
];

function first({ cluster }: Site): RealNode {
  return cluster.nodes[0] as RealNode;
}

function second({ cluster }: Site): RealNode {
  return cluster.nodes[1] as RealNode;
}
