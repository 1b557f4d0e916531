import { Counter, Registry } from '@prometheus-io/client';
import { describe, expect, it, onTestFinished } from 'vitest';
import { type Check, createAdminServer } from '../../../src/server/admin-server.ts';

function adminServer(checks: readonly Check[] = [], registry = new Registry()) {
  const admin = createAdminServer({ checks: () => checks, registry });
  onTestFinished(() => admin.close());
  return admin;
}

const ok: Check = { name: 'certificate', state: 'ok', detail: 'expires tomorrow' };
const degraded: Check = { name: 'policies', state: 'degraded', detail: '1 in force; a.yaml:1:1: no' };
const failed: Check = { name: 'shutdown', state: 'failed', detail: 'stopping' };

describe('/readyz', () => {
  it.each([
    { why: 'all is well', checks: [ok], status: 200, body: '[+] certificate ok: expires tomorrow\nready\n' },
    {
      why: 'something is degraded',
      checks: [ok, degraded],
      status: 200,
      body: '[+] certificate ok: expires tomorrow\n[!] policies degraded: 1 in force; a.yaml:1:1: no\nready\n',
    },
    {
      why: 'something failed',
      checks: [ok, degraded, failed],
      status: 503,
      body: '[+] certificate ok: expires tomorrow\n[!] policies degraded: 1 in force; a.yaml:1:1: no\n[-] shutdown failed: stopping\nnot ready\n',
    },
  ])('names each check and answers $status when $why', async ({ checks, status, body }) => {
    const answer = await adminServer(checks).inject('/readyz');

    expect(answer.statusCode).toBe(status);
    expect(answer.headers['content-type']).toMatch(/^text\/plain/);
    expect(answer.body).toBe(body);
  });
});

it('/checks has the checks as JSON, and answers 200 also while one fails', async () => {
  const answer = await adminServer([ok, failed]).inject('/checks');
  expect([answer.statusCode, answer.json()]).toEqual([200, [ok, failed]]);
});

it('/livez answers also while a check fails', async () => {
  const answer = await adminServer([failed]).inject('/livez');
  expect([answer.statusCode, answer.body]).toEqual([200, 'ok\n']);
});

it("/metrics has the registry's metrics in Prometheus' text format", async () => {
  const registry = new Registry();
  new Counter({ name: 'asked_total', help: 'Asked.', registers: [registry] }).inc(3);
  const answer = await adminServer([], registry).inject('/metrics');

  expect(answer.headers['content-type']).toBe('text/plain; version=0.0.4; charset=utf-8');
  expect(answer.body).toContain('asked_total 3');
});

it.each([
  ['GET', '/'],
  ['GET', '/validate'],
  ['POST', '/metrics'],
  ['POST', '/validate'],
] as const)('%s %s is not found', async (method, url) => {
  expect((await adminServer().inject({ method, url })).statusCode).toBe(404);
});
