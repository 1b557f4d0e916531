import { expect, it, vi } from 'vitest';
import type {
  Webhook,
  WebhookConfiguration,
} from '../../../../src/cluster/admission-registration/webhook-configurations.ts';
import type { ApiClient, RequestOptions } from '../../../../src/cluster/client/api-client.ts';
import { storedConfigurations } from '../../../../src/controllers/webhooks/stored-configurations.ts';
import { webhookWriter } from '../../../../src/controllers/webhooks/webhook-writer.ts';
import { captureLog } from '../../captured-log.ts';
import { absent } from '../../cluster/client/absent.ts';
import { stopClock } from '../../stopped-clock.ts';

const WEBHOOKS = [{ name: 'protect.taintkeeper.dev' }] as unknown as readonly Webhook[];
const KIND = 'ValidatingWebhookConfiguration';

/** A writer of the configuration that validates. `prune` deletes it, as another writer does. */
function startWriter() {
  stopClock();
  const { log, lines } = captureLog();
  let present: WebhookConfiguration | undefined;
  const writes: string[] = [];
  const client = {
    async request(method: string, path: string, { body }: RequestOptions = {}) {
      if (method !== 'GET') writes.push(method);
      if (method === 'POST') present = body as WebhookConfiguration;
      if (!present || !path.includes('validating')) throw absent(method, path);
      const answer = present;
      if (method === 'DELETE') present = undefined;
      return answer;
    },
  } as unknown as ApiClient;
  const stored = storedConfigurations(client);
  const writer = webhookWriter({
    client,
    service: { namespace: 'taintkeeper', name: 'taintkeeper', port: 443 },
    serviceCheck: { wait: async () => undefined, registered: () => {} },
    confirmBundle: async () => {},
    stored,
    ownerClusterRole: undefined,
    log,
  });
  return {
    writer,
    writes,
    lines,
    prune() {
      present = undefined;
    },
    /** A run of the controller. @returns in how many milliseconds it writes */
    async write(webhooks = WEBHOOKS): Promise<number> {
      await stored.read();
      const waitMs = await writer.write('validate', webhooks, undefined);
      if (webhooks.length > 0 && !stored.get('validate')) writer.differs('validate');
      return waitMs ?? 0;
    },
  };
}

it('a configuration that another writer deletes repeatedly is created after longer and longer pauses, and reported', async () => {
  const { writer, writes, lines, prune, write } = startWriter();
  const pauses: number[] = [];
  for (let time = 0; time < 10; time++) {
    const waitMs = Math.ceil(await write());
    pauses.push(waitMs);
    vi.advanceTimersByTime(waitMs);
    if (waitMs > 0) await write();
    prune();
  }
  expect(writes).toEqual(Array(10).fill('POST'));
  // The registration, and the first repair.
  expect(pauses.slice(0, 2)).toEqual([0, 0]);
  expect(Math.min(...pauses.slice(2))).toBeGreaterThan(0);
  expect(pauses.at(-1)).toBeGreaterThan(6_000);
  const where = 'see the audit log of the API server';
  expect(writer.conflict()).toBe(`another writer deletes ${KIND} taintkeeper: ${where}`);
  expect(lines().map(({ msg }) => msg)).toEqual([
    `${KIND} created`,
    ...Array(5).fill(`${KIND} restored: another writer had deleted it`),
    `${KIND} is deleted repeatedly by another writer: ${where}`,
    ...Array(4).fill(`${KIND} restored: another writer had deleted it`),
  ]);
});

it.each([
  { why: 'the leader removed the configuration', isPruned: false },
  { why: 'another writer deleted it meanwhile', isPruned: true },
])('a new policy after the last one was deleted waits for nothing: $why', async ({ isPruned }) => {
  const { writer, writes, prune, write } = startWriter();
  for (let time = 0; time < 10; time++) {
    expect(await write()).toBe(0);
    if (isPruned) prune();
    await write([]);
  }
  expect(writes.filter((method) => method === 'POST')).toHaveLength(10);
  expect(writer.conflict()).toBeUndefined();
});
