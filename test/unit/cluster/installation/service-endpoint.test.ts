import { expect, it } from 'vitest';
import type { KeyPair } from '../../../../src/certs/issue.ts';
import type { ApiClient } from '../../../../src/cluster/client/api-client.ts';
import { callOverService } from '../../../../src/cluster/installation/service-endpoint.ts';
import { issueAuthority, issueNamed } from '../../certs/authorities.ts';
import { startEchoingWebhook } from '../../webhooks/echoing-webhook.ts';

const SERVER_NAME = 'taintkeeper.taintkeeper.svc';
const ca = await issueAuthority('root', new Date());

/** A webhook at the end of a Service, and the client that reads the Service. */
async function startService(pair: KeyPair) {
  const port = await startEchoingWebhook(pair);
  const client = {
    request: async () => ({ spec: { type: 'ExternalName', externalName: '127.0.0.1' } }),
  } as unknown as ApiClient;
  return { client, ref: { namespace: 'taintkeeper', name: 'taintkeeper', port } };
}

const issue = (commonName: string, dnsNames: readonly string[]) =>
  issueNamed(
    commonName,
    dnsNames.map((value) => ({ type: 2, value })),
    { ca },
  );

it.each([
  { why: 'the name', dnsNames: [SERVER_NAME] },
  { why: '* for the first label', dnsNames: ['*.taintkeeper.svc'] },
])('calls a webhook whose certificate has $why', async ({ dnsNames }) => {
  const { client, ref } = await startService(await issue('taintkeeper', dnsNames));
  await expect(callOverService(client, ref, ca.cert, new AbortController().signal)).resolves.toBeUndefined();
});

it.each([
  { why: 'only as the Common Name', dnsNames: [], has: 'no name at all' },
  { why: 'as the beginning of a label', dnsNames: ['taint*.taintkeeper.svc'], has: 'taint*.taintkeeper.svc' },
  { why: 'not at all', dnsNames: ['other'], has: 'other' },
])('refuses a webhook, as the API server does, whose certificate has the name $why', async ({ dnsNames, has }) => {
  const { client, ref } = await startService(await issue(SERVER_NAME, dnsNames));
  await expect(callOverService(client, ref, ca.cert, new AbortController().signal)).rejects.toThrow(
    `does not lead here: the certificate is not for ${SERVER_NAME}, but for ${has}`,
  );
});
