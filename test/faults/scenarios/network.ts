import { setTimeout as delay } from 'node:timers/promises';
import type { TcpProxy } from '../../control-plane/tcp-proxy.ts';
import type { Scenario } from '../measure.ts';
import type { Site } from '../site.ts';

const HELD_MS = 10_000;

const WAYS: readonly { way: keyof Site['ways']; between: string }[] = [
  { way: 'apiServerToWebhook', between: 'from the API server to the webhook' },
  { way: 'webhookToApiServer', between: 'from the webhook to the API server' },
  { way: 'apiServerToEtcd', between: 'from the API server to etcd' },
];

const HARMS: readonly { harm: string; says: (between: string) => string; run(way: TcpProxy): Promise<void> }[] = [
  {
    harm: 'silent',
    says: (between) => `nothing arrives ${between}, in either direction, for 20 s`,
    async run(way) {
      way.pause();
      // Longer than the Lease lasts.
      await delay(2 * HELD_MS);
      way.resume();
    },
  },
  {
    harm: 'late',
    says: (between) => `all arrives 1 s late ${between} and back, for 10 s`,
    async run(way) {
      way.delay(1_000);
      await delay(HELD_MS);
      way.delay(0);
    },
  },
  {
    harm: 'reset',
    says: (between) => `each connection ${between} is reset, five times a second, for 5 s`,
    async run(way) {
      for (let time = 0; time < 25; time++) {
        way.dropConnections();
        await delay(200);
      }
    },
  },
];

export const networkFaults: readonly Scenario[] = WAYS.flatMap(({ way, between }) =>
  HARMS.map(({ harm, says, run }) => ({
    name: `${harm}-${kebab(way)}`,
    what: says(between),
    run: ({ ways }: Site) => run(ways[way]),
  })),
);

function kebab(name: string): string {
  return name.replaceAll(/[A-Z]/g, (letter) => `-${letter.toLowerCase()}`);
}
