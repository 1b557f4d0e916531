import { execFileSync } from 'node:child_process';
import { readlinkSync } from 'node:fs';
import { setTimeout as delay } from 'node:timers/promises';
import type { Scenario } from '../measure.ts';
import type { Site } from '../site.ts';

const HELD_MS = 15_000;
/** TCP makes up for as many, most of the time, within the two seconds that a webhook call may take. */
const DROPPED_PERCENT = 30;

/** Set by run.ts once it has moved to a network namespace of its own. */
export const OWN_NETWORK = 'FAULTS_OWN_NETWORK';

const WAYS: readonly { way: keyof Site['ways']; between: string }[] = [
  { way: 'apiServerToWebhook', between: 'between API server and webhook' },
  { way: 'webhookToApiServer', between: 'between webhook and API server' },
  { way: 'apiServerToEtcd', between: 'between API server and etcd' },
];

/** The kernel drops packets to or from a proxy's port, by chance. Only in a network namespace of our own: there is one loopback. */
export const packetFaults: readonly Scenario[] = WAYS.map(({ way, between }) => ({
  name: `lossy-${way.replaceAll(/[A-Z]/g, (letter) => `-${letter.toLowerCase()}`)}`,
  what: `the kernel loses ${DROPPED_PERCENT} % of the packets ${between}, for 15 s`,
  obstacle: () => (isOwnNetwork() ? undefined : 'it takes root, unshare and iptables'),
  async run({ ways }: Site) {
    const { port } = ways[way];
    drop('-A', port);
    await delay(HELD_MS);
    process.stderr.write(`  packets lost at port ${port}: ${dropped(port)}\n`);
    drop('-D', port);
  },
}));

function drop(change: '-A' | '-D', port: number): void {
  for (const end of ['--dport', '--sport']) {
    const chance = ['-m', 'statistic', '--mode', 'random', '--probability', String(DROPPED_PERCENT / 100)];
    execFileSync('iptables', ['-w', change, 'INPUT', '-p', 'tcp', end, String(port), ...chance, '-j', 'DROP']);
  }
}

/** How many packets the rules of the port have dropped. */
function dropped(port: number): number {
  const rules = execFileSync('iptables', ['-w', '-L', 'INPUT', '-v', '-x', '-n'], { encoding: 'utf8' }).split('\n');
  const ours = rules.filter((rule) =>
    rule.endsWith(`:${port} statistic mode random probability ${rule.split(' ').at(-1)}`),
  );
  return ours.reduce((sum, rule) => sum + Number(rule.trim().split(/\s+/)[0]), 0);
}

/** Not by the environment alone: a rule in the machine's own network would be everybody's. */
function isOwnNetwork(): boolean {
  const former = process.env[OWN_NETWORK];
  return former !== undefined && former !== networkOf();
}

/** The network namespace of this process, such as `net:[4026531840]`. */
export function networkOf(): string {
  return readlinkSync('/proc/self/ns/net');
}
