import { readFileSync } from 'node:fs';
import { afterAll, beforeAll, expect, it } from 'vitest';
import type { ControlPlane } from '../control-plane/control-plane.ts';
import { describeWithControlPlane } from '../control-plane/describe-with-control-plane.ts';
import { launchServe, type ServeProcess } from '../control-plane/serve-process.ts';
import { type ServiceProxy, startServiceProxy } from '../control-plane/service-proxy.ts';
import { admin, developer } from '../control-plane/users.ts';
import { waitUntil } from '../control-plane/wait-until.ts';
import { waitUntilCalled } from '../control-plane/webhook.ts';
import { createWebhookService } from '../control-plane/webhook-service.ts';
import { createWorkspace, type Workspace } from '../control-plane/workspace.ts';

const NAMES = ['one', 'two', 'three'] as const;
const START_TIMEOUT_MS = 30_000;
const WEBHOOK = 'rig.taintkeeper.dev';

/** The state that the kernel gives a process: R, S, T (stopped), Z; `undefined` where there is no /proc. */
function stateOf({ pid }: ServeProcess): string | undefined {
  try {
    return /^State:\s+(\S)/m.exec(readFileSync(`/proc/${pid}/status`, 'utf8'))?.[1];
  } catch {
    return undefined;
  }
}

async function register(cp: ControlPlane, port: number, caFile: string): Promise<void> {
  const service = { namespace: 'taintkeeper', name: 'taintkeeper', path: '/validate', port };
  const body = {
    metadata: { name: 'rig' },
    webhooks: [
      {
        name: WEBHOOK,
        clientConfig: { service, caBundle: readFileSync(caFile).toString('base64') },
        rules: [{ apiGroups: [''], apiVersions: ['v1'], resources: ['nodes'], operations: ['CREATE'] }],
        failurePolicy: 'Fail',
        sideEffects: 'None',
        admissionReviewVersions: ['v1'],
        timeoutSeconds: 2,
      },
    ],
  };
  const path = '/apis/admissionregistration.k8s.io/v1/validatingwebhookconfigurations';
  expect((await cp.request(admin, 'POST', path, { body })).status).toBe(201);
}

describeWithControlPlane('rig: replicas behind a Service', {}, (cp) => {
  let workspace: Workspace;
  let proxy: ServiceProxy;
  const replicas = new Map<string, ServeProcess>();
  const replica = (name: string): ServeProcess => {
    const found = replicas.get(name);
    if (!found) throw new Error(`no replica ${name}`);
    return found;
  };

  async function start(name: string): Promise<void> {
    const args = ['--port', '0', '--admin-port', '0', '--cert-dir', workspace.path('certs')];
    const started = await launchServe(name, [...args, '--san', 'taintkeeper.taintkeeper.svc'], {
      workspace: createWorkspace('replica'),
    });
    replicas.set(name, started);
    proxy.add({ name, ...(await started.listening(START_TIMEOUT_MS)) });
  }

  /** The statuses of node creations, one after the other; each is one call of the webhook. */
  async function createNodes(count: number): Promise<number[]> {
    const statuses = [];
    for (let i = 0; i < count; i++) {
      const body = { metadata: { name: 'dry' } };
      statuses.push((await cp().request(developer, 'POST', '/api/v1/nodes?dryRun=All', { body })).status);
    }
    return statuses;
  }

  beforeAll(async () => {
    workspace = createWorkspace('replicas');
    proxy = await startServiceProxy();
    await Promise.all(NAMES.map(start));
    await proxy.waitForReady(...NAMES);
    await createWebhookService(cp(), 'taintkeeper', 'taintkeeper');
    await register(cp(), proxy.port, workspace.path('certs/ca.crt'));
    await waitUntilCalled(cp(), [WEBHOOK]);
  });

  afterAll(async () => {
    await Promise.all([...replicas.values()].map((replica) => replica.kill()));
    await proxy.stop();
    workspace.remove();
  });

  it('lets the API server reach them through the Service', async () => {
    expect(await createNodes(3)).toEqual([201, 201, 201]);
    const given = Object.values(proxy.connections()).reduce((sum, count) => sum + count, 0);
    expect(given).toBeGreaterThan(0);
    expect(proxy.unserved).toBe(0);
  });

  it('finds a Service of another kind and changes it', async () => {
    const path = '/api/v1/namespaces/taintkeeper/services';
    const body = { metadata: { name: 'other' }, spec: { selector: { app: 'other' }, ports: [{ port: 443 }] } };
    expect((await cp().request(admin, 'POST', path, { body })).status).toBe(201);
    await createWebhookService(cp(), 'taintkeeper', 'other');
    const changed = await cp().request(admin, 'GET', `${path}/other`);
    expect(changed.body).toMatchObject({ spec: { type: 'ExternalName', externalName: 'localhost' } });
  });

  it('pauses the process itself, and lets it go on', async () => {
    const paused = replica('three');
    paused.pause();
    await proxy.waitForReady('one', 'two');
    if (process.platform === 'linux') expect(stateOf(paused)).toBe('T');
    expect(paused.exit).toBeUndefined();
    paused.resume();
    await proxy.waitForReady(...NAMES);
  });

  it('gives nothing more to a replica that was killed, and takes another of its name', async () => {
    const { pid } = replica('one');
    await replica('one').kill();
    expect(replica('one').exit).toEqual({ code: null, signal: 'SIGKILL' });
    expect(() => process.kill(pid, 0)).toThrow('ESRCH');
    await proxy.waitForReady('two', 'three');
    expect(await createNodes(20)).toEqual(Array(20).fill(201));
    await start('one');
    await proxy.waitForReady(...NAMES);
  });

  it('ends a paused replica in its own way, not by force', async () => {
    replica('two').pause();
    await proxy.waitForReady('one', 'three');
    expect(await replica('two').stop()).toBe(0);
    expect(replica('two').logs().at(-1)?.msg).toBe('stopped');
  });

  it('fails the request when no replica is left', async () => {
    await Promise.all(['one', 'three'].map((name) => replica(name).stop()));
    await proxy.waitForReady();
    const statuses = await waitUntil(async () => ((await createNodes(1))[0] === 500 ? 500 : undefined), {
      timeoutMs: START_TIMEOUT_MS,
      otherwise: () => 'the API server still gets answers',
    });
    expect(statuses).toBe(500);
    expect(proxy.unserved).toBeGreaterThan(0);
  });
});
