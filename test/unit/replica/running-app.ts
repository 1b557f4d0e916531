import { once } from 'node:events';
import { readFileSync, writeFileSync } from 'node:fs';
import type { IncomingMessage } from 'node:http';
import { request } from 'node:https';
import { join } from 'node:path';
import { text } from 'node:stream/consumers';
import { onTestFinished } from 'vitest';
import { issueCa, issueServing, type KeyPair } from '../../../src/certs/issue.ts';
import { type FilesAppOptions, startFilesApp } from '../../../src/replica/files-app.ts';
import { createMetrics } from '../../../src/replica/metrics.ts';
import { captureLog } from '../captured-log.ts';
import { temporaryDirectory } from '../temporary-directory.ts';

/** What certificates are asked to be for. */
export const NAMES = ['webhook.test', '127.0.0.1'];

/** The app on free ports of the loopback, with a directory of its own, that goes with the running test. */
export async function start(options: Partial<FilesAppOptions> = {}) {
  const certDirectory = options.certDirectory ?? join(temporaryDirectory(), 'certs');
  const captured = captureLog();
  const app = await startFilesApp({
    policyPaths: undefined,
    audit: false,
    host: '127.0.0.1',
    port: 0,
    adminHost: '127.0.0.1',
    adminPort: 0,
    certDirectory,
    names: NAMES,
    clientCa: undefined,
    page: true,
    metrics: createMetrics('0.0.0-test'),
    log: captured.log,
    // Long enough for what should end by itself to do so, and soon over.
    stopGraceMs: 300,
    pollIntervalMs: 10,
    ...options,
  });
  onTestFinished(() => app.stop());
  const read = (file: string) => readFileSync(join(certDirectory, file), 'utf8');
  return {
    ...app,
    certDirectory,
    log: captured,
    port: Number(new URL(app.url).port),
    adminPort: Number(new URL(app.adminUrl).port),
    ca: () => read('ca.crt'),
    async readiness() {
      const answer = await fetch(`${app.adminUrl}/readyz`);
      return { status: answer.status, lines: (await answer.text()).trimEnd().split('\n') };
    },
    metrics: async () => (await fetch(`${app.adminUrl}/metrics`)).text(),
  };
}

export function writePair(directory: string, { cert, key }: KeyPair): void {
  writeFileSync(join(directory, 'tls.key'), key);
  writeFileSync(join(directory, 'tls.crt'), cert);
}

/** A directory with a pair that taintkeeper did not issue. */
export async function foreignDirectory({ issuedAt = new Date(), names = [...NAMES, 'localhost'] } = {}) {
  const directory = temporaryDirectory();
  const ca = await issueCa(issuedAt);
  writeFileSync(join(directory, 'ca.crt'), ca.cert);
  const pair = await issueServing(ca, names, issuedAt);
  writePair(directory, pair);
  return { directory, ca, pair };
}

/** Posts a review as an API server does, and gives the answer. */
export async function postReview(app: { url: string; ca(): string }, review: object): Promise<string> {
  const outgoing = request(`${app.url}/validate`, {
    method: 'POST',
    ca: app.ca(),
    agent: false,
    headers: { 'content-type': 'application/json' },
  });
  outgoing.end(JSON.stringify(review));
  const [response] = (await once(outgoing, 'response')) as [IncomingMessage];
  return text(response);
}
