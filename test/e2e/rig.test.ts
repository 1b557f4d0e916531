import { execFileSync, spawn } from 'node:child_process';
import { once } from 'node:events';
import { existsSync, readFileSync } from 'node:fs';
import { createServer } from 'node:https';
import type { AddressInfo } from 'node:net';
import { dirname } from 'node:path';
import { json, text } from 'node:stream/consumers';
import { AuthenticationV1Api, CoreV1Api, type V1Node, type V1Pod, type V1Status } from '@kubernetes/client-node';
import { expect, it } from 'vitest';
import { MERGE_PATCH } from '../control-plane/content-types.ts';
import { type ControlPlane, startControlPlane } from '../control-plane/control-plane.ts';
import { createAuthority } from '../control-plane/credentials.ts';
import { describeWithControlPlane } from '../control-plane/describe-with-control-plane.ts';
import { WITH_KUBELET } from '../control-plane/kubelets/with-kubelet.ts';
import { createRestClient } from '../control-plane/rest.ts';
import { admin, developer, node, nodeController } from '../control-plane/users.ts';
import { waitUntil } from '../control-plane/wait-until.ts';
import { MUTATING_WEBHOOK, registerWebhook, unregisterWebhook } from '../control-plane/webhook.ts';

const NODES = '/api/v1/nodes';
const CONDITION_TIMEOUT_MS = 30_000;

const createNode = (cp: ControlPlane, name: string, annotations = {}) =>
  cp.request<V1Node>(admin, 'POST', NODES, { body: { metadata: { name, annotations } } });

/** The processes that were given a file of this folder; `ps` shows the same on Linux and macOS. */
const processesOf = (folder: string) =>
  execFileSync('ps', ['-A', '-ww', '-o', 'args='], { encoding: 'utf8' })
    .split('\n')
    .filter((line) => line.includes(folder));

describeWithControlPlane('rig: API server', {}, (cp) => {
  it.each([
    { user: admin, groups: ['system:masters'] },
    { user: developer, groups: [] },
    { user: nodeController, groups: ['system:serviceaccounts', 'system:serviceaccounts:kube-system'] },
    { user: node('w1'), groups: ['system:nodes'] },
  ])('knows $user.name', async ({ user, groups }) => {
    const api = (await cp().client(user)).makeApiClient(AuthenticationV1Api);
    const { status } = await api.createSelfSubjectReview({ body: {} });
    expect(status?.userInfo).toMatchObject({ username: user.name, groups: [...groups, 'system:authenticated'] });
  });

  it('lets nobody in without a credential', async () => {
    const nobody = createRestClient(cp().url, readFileSync(cp().caFile, 'utf8'));
    expect(await nobody.request('GET', '/readyz')).toMatchObject({ status: 401 });
    nobody.close();
  });

  it('lets a node register itself, and write no other node', async () => {
    const register = (name: string) =>
      cp().request<V1Status>(node('w1'), 'POST', NODES, { body: { metadata: { name } } });
    expect(await register('w1')).toMatchObject({ status: 201 });
    const refused = await register('w2');
    expect(refused.status).toBe(403);
    expect(refused.body.message).toContain('node "w1" is not allowed to modify node "w2"');
  });

  it('lets developer and node controller patch nodes, and the developer nothing else', async () => {
    await createNode(cp(), 'patched');
    const taint = (user: typeof admin, key: string) =>
      cp().request<V1Node>(user, 'PATCH', `${NODES}/patched`, {
        body: { spec: { taints: [{ key, effect: 'NoSchedule' }] } },
        contentType: MERGE_PATCH,
      });
    for (const user of [developer, nodeController]) {
      expect(await taint(user, 'rig')).toMatchObject({ status: 200, body: { spec: { taints: [{ key: 'rig' }] } } });
    }
    const secrets = await cp().kubectl(['get', 'secrets'], { user: developer });
    expect(secrets.code).toBe(1);
    expect(secrets.stderr).toContain('User "dev@example.com" cannot list resource "secrets"');
  });

  it('deletes only what the options of a deletion mean', async () => {
    const { body } = await createNode(cp(), 'replaced');
    const remove = (uid?: string) =>
      cp().request<V1Status>(admin, 'DELETE', `${NODES}/replaced`, { body: { preconditions: { uid } } });
    const refused = await remove('of-another-node');
    expect(refused).toMatchObject({ status: 409, body: { reason: 'Conflict' } });
    expect(await remove(body.metadata?.uid)).toMatchObject({ status: 200 });
  });

  it('passes standard input to kubectl', async () => {
    const input = JSON.stringify({ apiVersion: 'v1', kind: 'Node', metadata: { name: 'applied' } });
    expect(await cp().kubectl(['apply', '-f', '-'], { user: developer, input })).toEqual({
      code: 0,
      stdout: 'node/applied created\n',
      stderr: '',
    });
  });

  it('returns warnings unquoted', async () => {
    const body = { metadata: { name: 'warned' }, spec: { unheard: true } };
    const { warnings } = await cp().request(admin, 'POST', `${NODES}?fieldValidation=Warn&dryRun=All`, { body });
    expect(warnings).toEqual(['unknown field "spec.unheard"']);
  });

  it('finds the audit event of a request', async () => {
    const answer = await createNode(cp(), 'audited');
    expect(await cp().auditEvent(answer)).toMatchObject({
      verb: 'create',
      user: { username: 'admin' },
      objectRef: { resource: 'nodes', name: 'audited' },
      responseStatus: { code: 201 },
    });
  });

  it('calls a webhook from the moment that it is registered until it is unregistered', async () => {
    const authority = await createAuthority();
    const server = createServer(await authority.serving(), async (incoming, outgoing) => {
      const { request } = (await json(incoming)) as { request: { uid: string } };
      const response = {
        uid: request.uid,
        allowed: true,
        warnings: [`${incoming.url}`],
        auditAnnotations: { seen: 'yes' },
      };
      outgoing.setHeader('content-type', 'application/json');
      outgoing.end(JSON.stringify({ apiVersion: 'admission.k8s.io/v1', kind: 'AdmissionReview', response }));
    }).listen(0, '127.0.0.1');
    await once(server, 'listening');
    const url = `https://127.0.0.1:${(server.address() as AddressInfo).port}`;
    try {
      await registerWebhook(cp(), { url, caBundle: Buffer.from(authority.cert).toString('base64') });
      const seen = await createNode(cp(), 'seen');
      expect(seen.warnings).toEqual(['/mutate?timeout=5s', '/validate?timeout=5s']);
      expect((await cp().auditEvent(seen)).annotations).toMatchObject({ [`${MUTATING_WEBHOOK}/seen`]: 'yes' });
      await unregisterWebhook(cp());
      expect((await createNode(cp(), 'unseen')).warnings).toEqual([]);
    } finally {
      server.closeAllConnections();
      server.close();
    }
  });

  it('starts beside others, each with its own state, and leaves no process behind', async () => {
    const others = await Promise.all([startControlPlane(), startControlPlane()]);
    expect(new Set([cp(), ...others].map(({ url }) => url)).size).toBe(3);
    for (const other of others) {
      expect(await createNode(other, 'only-there')).toMatchObject({ status: 201 });
      const folder = dirname(other.caFile);
      expect(processesOf(folder)).toHaveLength(2);
      await other.stop();
      expect(processesOf(folder)).toEqual([]);
    }
    expect(await cp().request(admin, 'GET', `${NODES}/only-there`)).toMatchObject({ status: 404 });
  });

  it.concurrent.each([
    { end: 'an uncaught exception', code: 'setImmediate(() => { throw new Error("on purpose") })', signal: null },
    { end: 'SIGINT', code: 'process.kill(process.pid, "SIGINT")', signal: 'SIGINT' },
    { end: 'SIGTERM', code: 'process.kill(process.pid, "SIGTERM")', signal: 'SIGTERM' },
  ])('leaves no process behind after $end', async ({ code, signal }) => {
    const script = `
      import { startControlPlane } from ${JSON.stringify(import.meta.resolve('../control-plane/control-plane.ts'))};
      const cp = await startControlPlane();
      process.stdout.write(cp.caFile, () => { ${code} });`;
    const child = spawn(process.execPath, ['--input-type=module', '-e', script], { stdio: ['ignore', 'pipe', 'pipe'] });
    const [caFile, , exit] = await Promise.all([text(child.stdout), text(child.stderr), once(child, 'exit')]);
    expect(exit).toEqual([signal ? null : 1, signal]);
    const folder = dirname(caFile);
    // A process that was sent SIGKILL is there for another moment.
    await waitUntil(() => (processesOf(folder).length === 0 ? true : undefined), {
      timeoutMs: CONDITION_TIMEOUT_MS,
      otherwise: () => processesOf(folder).join('\n'),
    });
    expect(existsSync(folder)).toBe(false);
  });
});

describeWithControlPlane(
  'rig: nodes that run pods',
  { components: ['kube-controller-manager', 'kube-scheduler', 'kubelets'], nodeMonitorGraceSeconds: 4 },
  (cp) => {
    it('makes a node with a kubelet ready and runs the pod of a DaemonSet on it', async () => {
      await createNode(cp(), 'fake', WITH_KUBELET);
      const metadata = { labels: { app: 'agent' } };
      const spec = { containers: [{ name: 'agent', image: 'agent' }] };
      await cp().request(developer, 'POST', '/apis/apps/v1/namespaces/kube-system/daemonsets', {
        body: {
          metadata: { name: 'agent' },
          spec: { selector: { matchLabels: metadata.labels }, template: { metadata, spec } },
        },
      });
      const api = (await cp().client(developer)).makeApiClient(CoreV1Api);
      const findPod = async (): Promise<V1Pod | undefined> => {
        const { items } = await api.listNamespacedPod({ namespace: 'kube-system', labelSelector: 'app=agent' });
        return items.find(({ status }) => status?.phase === 'Running');
      };
      const pod = await waitUntil(findPod, {
        timeoutMs: CONDITION_TIMEOUT_MS,
        otherwise: () => 'the DaemonSet has no running pod',
      });
      expect(pod.spec?.nodeName).toBe('fake');
      const { status } = await api.readNode({ name: 'fake' });
      expect(status?.conditions).toContainEqual(expect.objectContaining({ type: 'Ready', status: 'True' }));
    });

    it('taints a node that sends no heartbeat, and none that does', async () => {
      const { body } = await createNode(cp(), 'silent');
      const lastHeartbeatTime = body.metadata?.creationTimestamp;
      const ready = { type: 'Ready', status: 'True', reason: 'Rig', lastHeartbeatTime };
      await cp().request(admin, 'PATCH', `${NODES}/silent/status`, {
        body: { status: { conditions: [ready] } },
        contentType: MERGE_PATCH,
      });
      const taintsOf = async (name: string) =>
        (await cp().request<V1Node>(admin, 'GET', `${NODES}/${name}`)).body.spec?.taints?.map(({ key }) => key) ?? [];
      await waitUntil(
        async () => ((await taintsOf('silent')).includes('node.kubernetes.io/unreachable') ? true : undefined),
        { timeoutMs: CONDITION_TIMEOUT_MS, otherwise: () => 'the silent node was not tainted' },
      );
      expect(await taintsOf('fake')).toEqual([]);
    });
  },
);
