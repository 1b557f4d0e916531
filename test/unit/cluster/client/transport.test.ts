import { mkdirSync, readFileSync, writeFileSync } from 'node:fs';
import { createServer as createHttpServer, type IncomingMessage } from 'node:http';
import { connect as connectTcp, type Socket } from 'node:net';
import { join } from 'node:path';
import { text } from 'node:stream/consumers';
import type { TLSSocket } from 'node:tls';
import { KubeConfig } from '@kubernetes/client-node/dist/config.js';
import { afterEach, describe, expect, it, onTestFinished, vi } from 'vitest';
import { loadConfig } from '../../../../src/cluster/client/kube-config.ts';
import { createTransport, type Transport } from '../../../../src/cluster/client/transport.ts';
import { type Authority, createAuthority } from '../../../control-plane/credentials.ts';
import { eventually } from '../../eventually.ts';
import { temporaryDirectory } from '../../temporary-directory.ts';
import { answer, type FakeApi, type Handler, kubeconfigText, startFakeApi } from './fake-api.ts';

afterEach(() => {
  vi.useRealTimers();
  vi.unstubAllEnvs();
});

const { signal } = new AbortController();
const get = async (transport: Transport) => {
  const response = await transport.send({ method: 'GET', target: '/x', headers: {}, body: undefined }, signal);
  return JSON.parse(await text(response)) as Record<string, string>;
};

/** Says who asks: by which token, and by which certificate. */
const whoAsks: Handler = ({ headers, socket }, response) =>
  answer(response, {
    token: headers.authorization,
    certificate: (socket as TLSSocket).getPeerCertificate?.().subject?.CN,
  });

async function tlsApi(handler: Handler = whoAsks): Promise<{ api: FakeApi; authority: Authority }> {
  const authority = await createAuthority();
  const tls = { ...(await authority.serving()), ca: authority.cert, requestCert: true, rejectUnauthorized: false };
  return { api: await startFakeApi(handler, tls), authority };
}

function transportFor(directory: string, kubeconfig: string): Transport {
  const file = join(directory, 'kubeconfig');
  writeFileSync(file, kubeconfig);
  const load = () => loadConfig({ kind: 'files', files: [file] }, KubeConfig);
  return closing(createTransport(load(), load));
}

function closing(transport: Transport): Transport {
  onTestFinished(() => transport.close());
  return transport;
}

const inFiles = (api: FakeApi, user: object = {}, cluster: object = {}) =>
  kubeconfigText(api.url, {
    user: { token: undefined, ...user },
    cluster: { 'insecure-skip-tls-verify': undefined, 'certificate-authority': 'ca.crt', ...cluster },
  });

const CERTIFICATE_FILES = { 'client-certificate': 'client.crt', 'client-key': 'client.key' };

async function writeClientPair(directory: string, authority: Authority, name: string): Promise<void> {
  const pair = await authority.client({ name, groups: [] });
  writeFileSync(join(directory, 'client.crt'), pair.cert);
  writeFileSync(join(directory, 'client.key'), pair.key);
}

describe('in a pod', () => {
  it('the token of the service account is followed as it rotates, over the same connection', async () => {
    const { api, authority } = await tlsApi();
    const root = temporaryDirectory();
    const folder = join(root, '/var/run/secrets/kubernetes.io/serviceaccount');
    mkdirSync(folder, { recursive: true });
    writeFileSync(join(folder, 'ca.crt'), authority.cert);
    writeFileSync(join(folder, 'token'), 'first\n');
    vi.stubEnv('KUBERNETES_SERVICE_HOST', '127.0.0.1');
    vi.stubEnv('KUBERNETES_SERVICE_PORT', new URL(api.url).port);
    const load = () => loadConfig({ kind: 'pod', root }, KubeConfig);
    const transport = closing(createTransport(load(), load));

    vi.useFakeTimers({ toFake: ['Date'] });
    expect(await get(transport)).toEqual({ token: 'Bearer first' });
    writeFileSync(join(folder, 'token'), 'second');
    vi.setSystemTime(Date.now() + 61_000);
    expect(await get(transport)).toEqual({ token: 'Bearer second' });
    expect(api.connections()).toEqual({ open: 1, made: 1 });
  });
});

it('the token file of a kubeconfig is followed as it rotates, and counts before a token', async () => {
  const { api, authority } = await tlsApi();
  const directory = temporaryDirectory();
  writeFileSync(join(directory, 'ca.crt'), authority.cert);
  writeFileSync(join(directory, 'token'), 'first\n');
  const transport = transportFor(directory, inFiles(api, { tokenFile: 'token', token: 'older' }));

  vi.useFakeTimers({ toFake: ['Date'] });
  expect(await get(transport)).toEqual({ token: 'Bearer first' });
  writeFileSync(join(directory, 'token'), 'second');
  vi.setSystemTime(Date.now() + 61_000);
  expect(await get(transport)).toEqual({ token: 'Bearer second' });
});

describe('a client certificate', () => {
  it('is followed when its files are replaced, and connections with the old one end', async () => {
    const { api, authority } = await tlsApi();
    const directory = temporaryDirectory();
    writeFileSync(join(directory, 'ca.crt'), authority.cert);
    await writeClientPair(directory, authority, 'old');
    const transport = transportFor(directory, inFiles(api, CERTIFICATE_FILES));

    expect([await get(transport), await get(transport)]).toEqual([{ certificate: 'old' }, { certificate: 'old' }]);
    expect(api.connections()).toEqual({ open: 1, made: 1 });
    await writeClientPair(directory, authority, 'new');
    expect([await get(transport), await get(transport)]).toEqual([{ certificate: 'new' }, { certificate: 'new' }]);
    await eventually(() => expect(api.connections()).toEqual({ open: 1, made: 2 }));
  });

  it('that is replaced lets what is in flight end first', async () => {
    const held: (() => void)[] = [];
    let hold = true;
    const { api, authority } = await tlsApi((request, response) => {
      if (hold) held.push(() => whoAsks(request, response));
      else whoAsks(request, response);
    });
    const directory = temporaryDirectory();
    writeFileSync(join(directory, 'ca.crt'), authority.cert);
    await writeClientPair(directory, authority, 'old');
    const transport = transportFor(directory, inFiles(api, CERTIFICATE_FILES));

    const inFlight = get(transport);
    await eventually(() => expect(held).toHaveLength(1));
    hold = false;
    await writeClientPair(directory, authority, 'new');
    expect(await get(transport)).toEqual({ certificate: 'new' });
    held[0]?.();
    expect(await inFlight).toEqual({ certificate: 'old' });
    await eventually(() => expect(api.connections()).toEqual({ open: 1, made: 2 }));
  });
});

it('a client key is read under any label, as kubectl does', async () => {
  const { api, authority } = await tlsApi();
  const directory = temporaryDirectory();
  writeFileSync(join(directory, 'ca.crt'), authority.cert);
  const { cert, key } = await authority.client({ name: 'admin', groups: [] });
  writeFileSync(join(directory, 'client.crt'), cert);
  writeFileSync(join(directory, 'client.key'), key.replaceAll(' PRIVATE KEY', ' ECDSA PRIVATE KEY'));
  expect(await get(transportFor(directory, inFiles(api, CERTIFICATE_FILES)))).toEqual({ certificate: 'admin' });
});

describe('the API server', () => {
  it('has to show a certificate of the CA in the kubeconfig', async () => {
    const { api } = await tlsApi();
    const directory = temporaryDirectory();
    writeFileSync(join(directory, 'ca.crt'), (await createAuthority()).cert);
    await expect(get(transportFor(directory, inFiles(api)))).rejects.toThrow(/certificate|signature/);
    expect(api.received).toEqual([]);
  });
});

describe('an exec plugin', () => {
  it('is run once, and again when what it gave has expired', async () => {
    const { api, authority } = await tlsApi();
    const directory = temporaryDirectory();
    writeFileSync(join(directory, 'ca.crt'), authority.cert);
    const runs = join(directory, 'runs');
    const plugin = `
      const { appendFileSync, readFileSync } = require('node:fs');
      appendFileSync(${JSON.stringify(runs)}, 'x');
      const token = 'run-' + readFileSync(${JSON.stringify(runs)}).length;
      const expirationTimestamp = new Date(${Date.now()} + 3600_000 * token.slice(4)).toISOString();
      console.log(JSON.stringify({ status: { token, expirationTimestamp } }));`;
    const exec = { apiVersion: 'client.authentication.k8s.io/v1', command: process.execPath, args: ['-e', plugin] };
    const transport = transportFor(directory, inFiles(api, { exec }));

    vi.useFakeTimers({ toFake: ['Date'] });
    expect([await get(transport), await get(transport)]).toEqual([
      { token: 'Bearer run-1' },
      { token: 'Bearer run-1' },
    ]);
    vi.setSystemTime(Date.now() + 3_601_000);
    expect(await get(transport)).toEqual({ token: 'Bearer run-2' });
    expect(readFileSync(runs, 'utf8')).toBe('xx');
  });

  it('that hangs does not outlast the request', async () => {
    const { api, authority } = await tlsApi();
    const directory = temporaryDirectory();
    writeFileSync(join(directory, 'ca.crt'), authority.cert);
    const exec = { command: process.execPath, args: ['-e', 'setTimeout(() => {}, 2000)'] };
    const transport = transportFor(directory, inFiles(api, { exec }));
    const controller = new AbortController();
    const asked = transport.send({ method: 'GET', target: '/x', headers: {}, body: undefined }, controller.signal);
    controller.abort(new Error('took too long'));
    await expect(asked).rejects.toThrow('took too long');
  });
});

describe('a proxy', () => {
  it('is used where the kubeconfig names one, over a connection that is kept', async () => {
    const { api, authority } = await tlsApi();
    const tunnels: string[] = [];
    const proxy = createHttpServer().on('connect', (request: IncomingMessage, socket: Socket) => {
      tunnels.push(request.url ?? '');
      const upstream = connectTcp(Number(new URL(api.url).port), '127.0.0.1', () => {
        socket.write('HTTP/1.1 200 OK\r\n\r\n');
        upstream.pipe(socket).pipe(upstream);
      });
      for (const end of [socket, upstream]) end.on('error', () => {});
      onTestFinished(() => void [socket, upstream].map((end) => end.destroy()));
    });
    await new Promise<void>((resolve) => proxy.listen(0, '127.0.0.1', resolve));
    onTestFinished(() => void proxy.close());
    const { port } = proxy.address() as { port: number };

    const directory = temporaryDirectory();
    writeFileSync(join(directory, 'ca.crt'), authority.cert);
    await writeClientPair(directory, authority, 'old');
    const cluster = { 'proxy-url': `http://127.0.0.1:${port}` };
    const transport = transportFor(directory, inFiles(api, CERTIFICATE_FILES, cluster));
    expect([await get(transport), await get(transport)]).toEqual([{ certificate: 'old' }, { certificate: 'old' }]);
    expect(tunnels).toEqual([new URL(api.url).host]);
    await writeClientPair(directory, authority, 'new');
    expect(await get(transport)).toEqual({ certificate: 'new' });
    expect(tunnels).toHaveLength(2);
  });
});
