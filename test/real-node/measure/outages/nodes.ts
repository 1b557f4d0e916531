import { setTimeout as delay } from 'node:timers/promises';
import type { RealNode } from '../../real-node.ts';
import type { Outage, Site } from '../outage.ts';

/** A node that is gone counts as Ready for 50 s, and its replica gets connections for as long. */
const LINK_DOWN_MS = 70_000;
const ONE_WAY_MS = 30_000;
const WITHOUT_POWER_MS = 20_000;
const CONTAINERD_STOPPED_MS = 10_000;
const CNI_DOWN_MS = 30_000;
const FULL_STOP_MS = 10_000;
const DISK_FULL_MS = 30_000;
/** Of 512: less than 30 % is left. */
const DISK_FILLED_MIB = 400;

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
      const end = await second(site).losePackets('in');
      await delay(ONE_WAY_MS);
      await end();
    },
  },
  {
    name: 'other-way',
    what: `nothing that it sends arrives for ${ONE_WAY_MS / 1000} s; what is sent to it does`,
    called: 'n2',
    async run(site) {
      const end = await second(site).losePackets('out');
      await delay(ONE_WAY_MS);
      await end();
    },
  },
  {
    name: 'power-cut',
    what: `that node has no power for ${WITHOUT_POWER_MS / 1000} s`,
    called: 'n2',
    run: withoutPower,
  },
  {
    name: 'leader-power-cut',
    what: `the same, and its replica leads`,
    called: 'n2',
    leads: 'n2',
    run: withoutPower,
  },
  {
    name: 'disk-full',
    what: `its disk is full for ${DISK_FULL_MS / 1000} s`,
    called: 'n2',
    kubeletConfig: {
      evictionHard: { 'memory.available': '100Mi', 'nodefs.available': '30%' },
      evictionPressureTransitionPeriod: '3s',
    },
    async run(site) {
      await second(site).fillDisk(DISK_FILLED_MIB);
      await delay(DISK_FULL_MS);
      await second(site).fillDisk(0);
    },
  },
  {
    name: 'cni-down',
    what: `it has no CNI for ${CNI_DOWN_MS / 1000} s, and is not ready`,
    called: 'n2',
    run: (site) => withoutCni([second(site)]),
  },
  {
    name: 'shutdown',
    what: 'that node shuts down gracefully, and starts again',
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

/** What befalls both nodes. */
export const clusterOutages: readonly Outage[] = [
  {
    name: 'no-cni',
    what: `no node has a CNI for ${CNI_DOWN_MS / 1000} s`,
    called: 'n2',
    run: ({ cluster }) => withoutCni(cluster.nodes),
  },
  {
    name: 'full-stop',
    what: `no node has power for ${FULL_STOP_MS / 1000} s`,
    called: 'n2',
    async run({ cluster }) {
      await Promise.all(cluster.nodes.map((node) => node.cutPower()));
      await delay(FULL_STOP_MS);
      await Promise.all(cluster.nodes.map((node) => node.powerOn()));
    },
  },
];

async function withoutPower(site: Site): Promise<void> {
  await second(site).cutPower();
  await delay(WITHOUT_POWER_MS);
  await second(site).powerOn();
}

async function withoutCni(nodes: readonly RealNode[]): Promise<void> {
  await Promise.all(nodes.map((node) => node.setCni('aside')));
  await delay(CNI_DOWN_MS);
  await Promise.all(nodes.map((node) => node.setCni('present')));
}

function first({ cluster }: Site): RealNode {
  return cluster.nodes[0] as RealNode;
}

function second({ cluster }: Site): RealNode {
  return cluster.nodes[1] as RealNode;
}
