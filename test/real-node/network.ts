import { BRIDGE_ADDRESS, nodeAddress, podRange, SERVICE_RANGE } from './addresses.ts';
import type { Namespaces } from './namespaces.ts';
import { runCommand } from './namespaces.ts';

const BRIDGE = 'br0';

/** The wire between the nodes: a bridge in the lab's namespaces. */
export async function layWire(lab: Namespaces): Promise<void> {
  await lab.run(['ip', 'link', 'set', 'lo', 'up']);
  await lab.run(['ip', 'link', 'add', BRIDGE, 'type', 'bridge']);
  await lab.run(['ip', 'address', 'add', BRIDGE_ADDRESS, 'dev', BRIDGE]);
  await lab.run(['ip', 'link', 'set', BRIDGE, 'up']);
}

/** Connects a node's namespaces with the wire: they get the interface `eth0`. */
export async function plugIn(lab: Namespaces, node: Namespaces, number: number): Promise<void> {
  const cable = cableOf(number);
  const plug = `p${number}`;
  await lab.run(['ip', 'link', 'add', cable, 'type', 'veth', 'peer', 'name', plug]);
  // By the machine's number of the process, which only the machine's own /proc knows.
  await runCommand([
    'nsenter',
    `--target=${lab.pid}`,
    '--net',
    '--',
    'ip',
    'link',
    'set',
    plug,
    'netns',
    `${node.pid}`,
  ]);
  await lab.run(['ip', 'link', 'set', cable, 'master', BRIDGE, 'up']);

  await node.run(['ip', 'link', 'set', 'lo', 'up']);
  await node.run(['ip', 'link', 'set', plug, 'name', 'eth0']);
  await node.run(['ip', 'address', 'add', `${nodeAddress(number)}/24`, 'dev', 'eth0']);
  await node.run(['ip', 'link', 'set', 'eth0', 'up']);
}

/** Connects a node's namespaces with the wire, and tells the node where the pods of the others are. */
export async function connectNode(lab: Namespaces, node: Namespaces, number: number, nodes: number): Promise<void> {
  await plugIn(lab, node, number);
  // Until kube-proxy has its rules, what is sent to a Service has to go nowhere, with an address that the others can answer.
  await node.run(['ip', 'link', 'add', 'services', 'type', 'bridge']);
  await node.run(['ip', 'link', 'set', 'services', 'up']);
  await node.run(['ip', 'route', 'replace', SERVICE_RANGE, 'dev', 'services', 'src', nodeAddress(number)]);
  for (let other = 1; other <= nodes; other++) {
    if (other !== number) await node.run(['ip', 'route', 'replace', podRange(other), 'via', nodeAddress(other)]);
  }
  await node.run(['sysctl', '--quiet', '--write', 'net.ipv4.ip_forward=1']);
}

/** Takes the cable away. The kernel does so, too, once nobody is in the node's namespaces, but at a time of its own. */
export async function disconnectNode(lab: Namespaces, number: number): Promise<void> {
  await lab.run(['ip', 'link', 'delete', cableOf(number)]);
}

/** Takes a node off the wire, or puts it back. The node sees its own end of the cable go down. */
export async function setLink(lab: Namespaces, number: number, state: 'up' | 'down'): Promise<void> {
  await lab.run(['ip', 'link', 'set', cableOf(number), state]);
}

function cableOf(number: number): string {
  return `v${number}`;
}
