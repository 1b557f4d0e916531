import { CoreV1Api, type V1Status } from '@kubernetes/client-node';
import { beforeAll, expect, it } from 'vitest';
import { describeWithControlPlane } from '../control-plane/describe-with-control-plane.ts';
import { startTcpProxy } from '../control-plane/tcp-proxy.ts';
import { admin, developer } from '../control-plane/users.ts';
import { waitUntil } from '../control-plane/wait-until.ts';

const NODES = '/api/v1/nodes';
/** Far above what an API server that can be reached takes to answer. */
const SILENCE_MS = 2_000;
const RECOVERY_TIMEOUT_MS = 30_000;

describeWithControlPlane('rig: faults of the control plane', {}, (cp) => {
  const create = (name: string) => cp().request(admin, 'POST', NODES, { body: { metadata: { name } } });
  const exists = async (name: string) => (await cp().request(admin, 'GET', `${NODES}/${name}`)).status === 200;

  beforeAll(async () => {
    for (const name of ['a', 'b', 'c']) expect((await create(name)).status).toBe(201);
  });

  it.each(['SIGTERM', 'SIGKILL'] as const)(
    'starts the API server again at the same place, after %s',
    async (ending) => {
      await cp().stopComponent('kube-apiserver', ending);
      await expect(cp().request(admin, 'GET', '/readyz')).rejects.toThrow('ECONNREFUSED');
      await cp().startComponent('kube-apiserver');
      expect(await exists('a')).toBe(true);
      expect((await create(`after-${ending.toLowerCase()}`)).status).toBe(201);
    },
  );

  it('does not start what still runs', async () => {
    await expect(cp().startComponent('etcd')).rejects.toThrow('etcd still runs');
  });

  it('does not know a component that was not asked for', async () => {
    await expect(cp().stopComponent('kubelets')).rejects.toThrow('started without kubelets');
  });

  it('has an API server that is not ready without etcd, and is again with it', async () => {
    const readiness = (status: number) =>
      waitUntil(async () => ((await cp().request(admin, 'GET', '/readyz')).status === status ? true : undefined), {
        timeoutMs: RECOVERY_TIMEOUT_MS,
        otherwise: () => `/readyz of the API server does not answer ${status}`,
      });
    await cp().stopComponent('etcd', 'SIGKILL');
    try {
      await readiness(500);
    } finally {
      await cp().startComponent('etcd');
    }
    await readiness(200);
    expect(await exists('a')).toBe(true);
  });

  it('knows no old revisions after a compaction and a restart', async () => {
    const { body } = await cp().request<{ metadata: Record<string, string> }>(admin, 'GET', `${NODES}?limit=1`);
    const { continue: token, resourceVersion } = body.metadata;
    await create('after-the-list');
    expect(await cp().compactEtcd()).toBeGreaterThan(Number(resourceVersion));
    await cp().restartComponent('kube-apiserver', 'SIGKILL');

    const continued = await cp().request<V1Status>(admin, 'GET', `${NODES}?limit=1&continue=${token}`);
    expect(continued).toMatchObject({ status: 410, body: { reason: 'Expired' } });
    const watch = `${NODES}?watch=1&timeoutSeconds=5&resourceVersion=${resourceVersion}`;
    const { status, body: event } = await cp().request(admin, 'GET', watch);
    expect({ status, event }).toMatchObject({ status: 200, event: { type: 'ERROR', object: { code: 410 } } });
  });

  it('is reached through a proxy by every client, until the proxy falls silent', async () => {
    await using proxy = await startTcpProxy(cp().url);
    const api = (await cp().client(developer, proxy.url)).makeApiClient(CoreV1Api);
    expect((await api.listNode()).items.length).toBeGreaterThan(0);
    const kubeconfig = await cp().kubeconfigFile(developer, proxy.url);
    const getNode = ['get', 'node', 'a', `--kubeconfig=${kubeconfig}`];
    expect(await cp().kubectl(getNode)).toMatchObject({ code: 0 });

    proxy.pause();
    const silent = await cp().kubectl([...getNode, `--request-timeout=${SILENCE_MS}ms`]);
    expect(silent.code).toBe(1);
    expect(silent.stderr).toMatch(/timeout|deadline exceeded/i);
    proxy.resume();
    expect(await cp().kubectl(getNode)).toMatchObject({ code: 0 });
  });
});
