import { expect, it, onTestFinished } from 'vitest';
import type { ApiClient } from '../../../src/cluster/client/api-client.ts';
import { openClusterCertificates } from '../../../src/replica/cluster-certificates.ts';
import { captureLog } from '../captured-log.ts';
import { temporaryDirectory } from '../temporary-directory.ts';

const HOUR_MS = 3_600_000;

it('issues certificates in a directory by the clock of the API server, which is asked first', async () => {
  // As of a node whose clock is a day ahead: the API server would accept neither the certificate nor its CA before tomorrow.
  const apiServerTime = new Date(Date.now() - 24 * HOUR_MS);
  let isAsked = false;
  const client = {
    now: () => (isAsked ? apiServerTime : new Date()),
    isClockConfirmed: () => false,
    request: async () => {
      isAsked = true;
    },
  } as unknown as ApiClient;
  const { keeper } = await openClusterCertificates({
    client,
    namespace: 'taintkeeper',
    certDirectory: temporaryDirectory(),
    names: ['localhost'],
    trust: { waitMs: () => 0, anchorOf: () => 'system' },
    caOverlapMs: 0,
    onServe: () => {},
    onChange: () => {},
    log: captureLog().log,
  });
  onTestFinished(() => keeper.stop());

  const { certificate, ca } = keeper.current();
  for (const one of [certificate, ca]) {
    expect(one?.validFromDate.getTime()).toBe(Math.floor((apiServerTime.getTime() - HOUR_MS) / 1_000) * 1_000);
  }
});
