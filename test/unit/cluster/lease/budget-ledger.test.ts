import { describe, expect, it } from 'vitest';
import type { ApiClient, RequestOptions } from '../../../../src/cluster/client/api-client.ts';
import { ApiError } from '../../../../src/cluster/client/api-error.ts';
import {
  formatLedger,
  ledgerStore,
  PLACES_ANNOTATION,
  parseLedger,
} from '../../../../src/cluster/lease/budget-ledger.ts';
import type { Ledger } from '../../../../src/evictions/no-execute-budget.ts';

const NOW = Date.parse('2026-01-01T12:00:00.250Z');
const LEDGER: Ledger = new Map([
  [
    'out',
    {
      id: 'abc',
      nodes: new Map([
        ['n1', NOW],
        ['n2', 0],
      ]),
    },
  ],
  ['none', { id: 'def', nodes: new Map() }],
]);
const TEXT = '{"out":{"id":"abc","nodes":{"n1":"2026-01-01T12:00:00.250Z","n2":""}},"none":{"id":"def","nodes":{}}}';

describe('the ledger as text', () => {
  it('can be read again', () => {
    expect(formatLedger(LEDGER)).toBe(TEXT);
    expect(parseLedger(TEXT)).toEqual(LEDGER);
    expect(parseLedger(undefined)).toEqual(new Map());
  });

  it.each(['', '{', 'null', '{"out":null}', '{"out":{"id":"a"}}', '{"out":{"id":"a","nodes":{"n1":"soon"}}}'])(
    'that somebody else wrote counts for nothing: %j',
    (text) => expect(() => parseLedger(text)).toThrow(/taintkeeper.dev\/places cannot be read/),
  );
});

it('is created where there is none, and then written over what was read', async () => {
  const requests: { method: string; path: string; body: unknown }[] = [];
  let stored: object | undefined;
  const client = {
    async request<T>(method: string, path: string, { body }: RequestOptions = {}) {
      requests.push({ method, path, body });
      if (method === 'GET' && !stored) throw new ApiError(method, path, 404, 'NotFound', '');
      if (body)
        stored = {
          ...(body as object),
          metadata: { ...(body as { metadata: object }).metadata, resourceVersion: '7' },
        };
      return stored as T;
    },
  } as unknown as ApiClient;
  const store = ledgerStore(client, 'ns', 'taintkeeper');
  const before = await store.read();
  expect(before.ledger).toEqual(new Map());
  await store.write(before, LEDGER);
  const after = await store.read();
  expect(after.ledger).toEqual(LEDGER);
  await store.write(after, new Map());
  expect(requests.map(({ method, path }) => `${method} ${path}`)).toEqual([
    'GET /apis/coordination.k8s.io/v1/namespaces/ns/leases/taintkeeper-noexecute',
    'POST /apis/coordination.k8s.io/v1/namespaces/ns/leases',
    'GET /apis/coordination.k8s.io/v1/namespaces/ns/leases/taintkeeper-noexecute',
    'PUT /apis/coordination.k8s.io/v1/namespaces/ns/leases/taintkeeper-noexecute',
  ]);
  expect(requests.at(-1)?.body).toMatchObject({
    metadata: { resourceVersion: '7', annotations: { [PLACES_ANNOTATION]: '{}' } },
  });
});
