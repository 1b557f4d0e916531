import { once } from 'node:events';
import { readFileSync } from 'node:fs';
import type { IncomingMessage } from 'node:http';
import { request } from 'node:https';
import { afterAll, beforeAll, expect, it } from 'vitest';
import { serverName } from '../../src/cluster/installation/service-ref.ts';
import type { CheckResult } from '../../src/doctor/check.ts';
import { createAuthority } from '../control-plane/credentials.ts';
import { describeWithControlPlane } from '../control-plane/describe-with-control-plane.ts';
import { succeeded } from '../control-plane/rest.ts';
import { startTcpProxy, type TcpProxy } from '../control-plane/tcp-proxy.ts';
import { admin, type User } from '../control-plane/users.ts';
import { waitUntil } from '../control-plane/wait-until.ts';
import { createWorkspace } from '../control-plane/workspace.ts';
import { ON_PODS, POD_ADDRESS } from './doctor-rig.ts';
import {
  type Installation,
  install,
  readCertificates,
  registerControlPlaneNode,
  removeTaints,
  waitUntilProtected,
} from './installation.ts';
import { runTaintkeeper } from './run-taintkeeper.ts';

const webhookClient: User = { name: 'kube-apiserver-webhook-client', groups: [] };

describeWithControlPlane('serve --client-ca, and an API server that shows a certificate', { webhookClient }, (cp) => {
  const workspace = createWorkspace('client-ca');
  let installation: Installation;
  let caFile: string;

  beforeAll(async () => {
    caFile = workspace.write('client-ca.crt', readFileSync(cp().caFile, 'utf8'));
    installation = await install(cp());
    await installation.start(['a'], { args: ['--client-ca', caFile] });
    await registerControlPlaneNode(cp(), 'cp-1');
  });
  afterAll(async () => {
    await installation?.stop();
    workspace.remove();
  });

  it('taintkeeper finds its own Service, and registers; the API server is answered: a protected taint stays', async () => {
    await waitUntilProtected(cp(), 'cp-1');
  });

  it('a client without a certificate is not', async () => {
    expect(await status({})).toBe(401);
  });

  it('when the CA of clients is another one, the API server is a stranger until it is the old one again', async () => {
    workspace.write('client-ca.crt', (await createAuthority()).cert);
    const refusal = 'the server has asked for the client to provide credentials';
    let last = '';
    await waitUntil(
      async () => {
        last = (await removeTaints(cp(), 'cp-1')).error;
        return last.includes(refusal) ? true : undefined;
      },
      { timeoutMs: 10_000, otherwise: () => last },
    );
    expect(last).toContain('failed calling webhook "protect.taintkeeper.dev"');

    workspace.write('client-ca.crt', readFileSync(cp().caFile, 'utf8'));
    await waitUntilProtected(cp(), 'cp-1');
  });

  /** What whoever shows this certificate is answered. */
  async function status(pair: { cert?: string; key?: string }): Promise<number | undefined> {
    const { data } = await readCertificates(cp());
    const outgoing = request(`${installation.replica('a').url}/validate`, {
      method: 'POST',
      agent: false,
      ca: Buffer.from(data['ca.crt'], 'base64').toString(),
      servername: serverName({ namespace: 'taintkeeper', name: 'taintkeeper' }),
      ...pair,
    });
    outgoing.end('{}');
    const [response] = (await once(outgoing, 'response')) as [IncomingMessage];
    response.resume();
    return response.statusCode;
  }
});

const { obstacle } = ON_PODS;

describeWithControlPlane(
  'serve --client-ca, and a second API server without a certificate',
  { webhookClient, ...(obstacle ? { obstacle } : {}) },
  (cp) => {
    const workspace = createWorkspace('client-ca-of-two');
    const proxies: TcpProxy[] = [];
    let installation: Installation;

    beforeAll(async () => {
      installation = await install(cp());
      const caFile = workspace.write('client-ca.crt', readFileSync(cp().caFile, 'utf8'));
      await installation.start(['a'], { args: ['--client-ca', caFile] });
      await registerControlPlaneNode(cp(), 'cp-1');
      await waitUntilProtected(cp(), 'cp-1');
      for (const url of [cp().url, await cp().furtherApiServer()]) proxies.push(await startTcpProxy(url, '0.0.0.0'));
    });
    afterAll(async () => {
      await installation?.stop();
      await Promise.all(proxies.map((proxy) => proxy.stop()));
      workspace.remove();
    });

    /** As each API server lists itself in the endpoints of the Service `kubernetes`. */
    async function list({ port }: TcpProxy): Promise<void> {
      const body = {
        apiVersion: 'discovery.k8s.io/v1',
        kind: 'EndpointSlice',
        metadata: { name: `kubernetes-${port}`, labels: { 'kubernetes.io/service-name': 'kubernetes' } },
        addressType: 'IPv4',
        ports: [{ name: 'https', protocol: 'TCP', port }],
        endpoints: [{ addresses: [POD_ADDRESS], conditions: { ready: true } }],
      };
      const path = '/apis/discovery.k8s.io/v1/namespaces/default/endpointslices';
      await succeeded(cp().request(admin, 'POST', path, { body }));
    }

    /** On a busy machine an API server may take longer than `doctor` waits: look again. */
    async function admissionChecks(): Promise<CheckResult[]> {
      const kubeconfig = await cp().kubeconfigFile(admin);
      const { stdout } = await runTaintkeeper(cp(), ['doctor', '-o', 'json', '--kubeconfig', kubeconfig]);
      const { checks } = JSON.parse(stdout) as { checks: CheckResult[] };
      return checks.filter(({ name }) => name === 'admission');
    }

    it('doctor names the API server whose calls get 401, although it is connected to the other one', async () => {
      await expect.poll(admissionChecks).toMatchObject([{ state: 'ok' }]);
      for (const proxy of proxies) await list(proxy);
      const [one, other] = proxies.map(({ port }) => `${POD_ADDRESS}:${port}`);
      const byState = async () => (await admissionChecks()).toSorted((a, b) => (a.state < b.state ? -1 : 1));
      await expect.poll(byState).toMatchObject([
        { state: 'ok', evidence: expect.stringContaining(`through API server ${one} is answered by taintkeeper`) },
        {
          state: 'problem',
          evidence: expect.stringMatching(
            new RegExp(
              `through API server ${other} fails at protect\\.taintkeeper\\.dev: .*asked for the client to provide credentials`,
            ),
          ),
          remedy: expect.stringContaining(`configure API server ${other} as ${one}`),
        },
      ]);
    });
  },
);
