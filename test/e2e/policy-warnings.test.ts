import { afterAll, beforeAll, expect, it } from 'vitest';
import { describeWithControlPlane } from '../control-plane/describe-with-control-plane.ts';
import { admin, node } from '../control-plane/users.ts';
import { waitUntil } from '../control-plane/wait-until.ts';
import { waitForStatus, waitForTaints } from './drift.ts';
import { type Installation, install, registerControlPlaneNode, waitUntilProtected } from './installation.ts';
import { policyObject } from './policy-objects.ts';
import { runAs } from './run-taintkeeper.ts';

const MISSPELT = { mode: 'Deny', taints: [{ key: 'node-role.kubernetes.io/controlplane' }] };
const WARNING =
  'Warning: no node carries node-role.kubernetes.io/controlplane; did you mean node-role.kubernetes.io/control-plane?\n';
const REGISTERED_TIMEOUT_MS = 30_000;

describeWithControlPlane('what kubectl says of a policy when it is applied', {}, (cp) => {
  let installation: Installation;
  beforeAll(async () => {
    installation = await install(cp());
    await installation.start(['a', 'b']);
    const jsonpath = '{.webhooks[*].name}';
    const registered = () =>
      cp().kubectl(['get', 'validatingwebhookconfiguration', 'taintkeeper', '-o', `jsonpath=${jsonpath}`]);
    await waitUntil(async () => (await registered()).stdout.includes('warn.taintkeeper.dev') || undefined, {
      timeoutMs: REGISTERED_TIMEOUT_MS,
      otherwise: () => 'the webhook is not registered',
    });
  });
  afterAll(() => installation.stop());

  const apply = (spec: object, ...args: string[]) =>
    cp().kubectl(['apply', '-f', '-', ...args], { input: JSON.stringify(policyObject('TaintPolicy', 'typo', spec)) });

  it('nothing while there are no nodes', async () => {
    expect(await apply(MISSPELT, '--dry-run=server')).toMatchObject({ code: 0, stderr: '' });
  });

  it('that no node carries such a key, and which one is near, whichever replica is asked', async () => {
    await registerControlPlaneNode(cp(), 'cp-1');
    await waitUntilProtected(cp(), 'cp-1');
    for (let call = 0; call < 6; call++) {
      expect(await apply(MISSPELT, '--dry-run=server')).toMatchObject({ code: 0, stderr: WARNING });
    }
    expect(await apply(MISSPELT)).toMatchObject({
      ...{ code: 0, stderr: WARNING },
      stdout: 'taintpolicy.taintkeeper.dev/typo created\n',
    });
  });

  it('nothing of a change that leaves its spec as it is', async () => {
    expect(await cp().kubectl(['annotate', 'taintpolicy', 'typo', 'note=seen'])).toMatchObject({ code: 0, stderr: '' });
    expect(await apply(MISSPELT)).toMatchObject({ code: 0, stderr: '' });
  });

  it('that it selects no node', async () => {
    const body = { metadata: { name: 'gpu-1', labels: { pool: 'gpu' } } };
    expect((await cp().request(node('gpu-1'), 'POST', '/api/v1/nodes', { body })).status).toBe(201);
    const taints = [{ key: 'dedicated', effect: 'NoSchedule' }];
    const selecting = (pool: string) => ({ mode: 'Audit', taints, nodeSelector: { matchLabels: { pool } } });
    // The leader knows them by its watch.
    await expect
      .poll(async () => (await apply(selecting('cpu'), '--dry-run=server')).stderr, {
        timeout: 15_000,
        interval: 1_000,
      })
      .toBe('Warning: spec.nodeSelector selects none of 2 nodes\n');
    expect(await apply(selecting('gpu'), '--dry-run=server')).toMatchObject({ code: 0, stderr: '' });
  });

  it('which nodes a changed policy no longer selects, with taints that it protected', async () => {
    const taint = { key: 'dedicated', value: 'gpu', effect: 'NoSchedule' };
    const body = { metadata: { name: 'gpu-2', labels: { pool: 'gpu', zone: 'a' } }, spec: { taints: [taint] } };
    expect((await cp().request(admin, 'POST', '/api/v1/nodes', { body })).status).toBe(201);
    const protecting = (zone: string) => ({
      mode: 'Restore',
      nodeSelector: { matchLabels: { zone } },
      taints: [{ key: 'dedicated', effect: 'NoSchedule' }],
    });
    const applied = (spec: object, ...args: string[]) =>
      cp().kubectl(['apply', '-f', '-', ...args], {
        input: JSON.stringify(policyObject('TaintPolicy', 'leaving', spec)),
      });
    expect((await applied(protecting('a'))).code).toBe(0);
    await expect
      .poll(async () => (await applied(protecting('b'), '--dry-run=server')).stderr, {
        timeout: 15_000,
        interval: 1_000,
      })
      .toBe(
        'Warning: this policy no longer protects taints on 1 node that it selected: gpu-2\n' +
          'Warning: spec.nodeSelector selects none of 3 nodes\n',
      );
    expect((await cp().kubectl(['delete', 'taintpolicy', 'leaving'])).code).toBe(0);
  });

  const NETWORK = { key: 'example.com/network', effect: 'NoSchedule' };
  const WAITING = { matchLabels: { zone: 'waiting' } };
  const applyNetwork = (taints: object[], ...args: string[]) => {
    const spec = { mode: 'Restore', nodeSelector: WAITING, taints };
    const input = JSON.stringify(policyObject('TaintPolicy', 'network', spec));
    return cp().kubectl(['apply', '-f', '-', ...args], { input });
  };
  const applyStartupTaint = async () => {
    const readyWhen = { daemonSets: [{ namespace: 'kube-system', name: 'cilium' }] };
    expect((await applyNetwork([{ ...NETWORK, ensure: 'UntilReady', readyWhen }])).code).toBe(0);
  };
  const createWaiting = async (name: string) => {
    const body = { metadata: { name, labels: WAITING.matchLabels }, spec: { taints: [NETWORK] } };
    expect((await cp().request(admin, 'POST', '/api/v1/nodes', { body })).status).toBe(201);
  };

  it('how many nodes wait with a startup taint when its policy is deleted or changed, or when a label change ends its selection, whichever replica is asked', async () => {
    await createWaiting('waiting-1');
    await applyStartupTaint();
    await waitForStatus(cp(), 'network', ({ waiting }) => waiting === 1);

    const lost = 'Warning: 1 node still waits, and will lose the startup taint of this policy in 10 seconds';
    const change = () => applyNetwork([{ key: 'dedicated', effect: 'NoSchedule' }], '--dry-run=server');
    // Each replica compares few policies with the nodes at once.
    await expect
      .poll(async () => (await change()).stderr, { timeout: 30_000, interval: 1_000 })
      .toBe(`${lost}: waiting-1\n`);
    const relabel = (...args: string[]) => cp().kubectl(['label', 'node', 'waiting-1', 'zone-', ...args]);
    const relabeled =
      'Warning: 1 node still waits, and will lose startup taint example.com/network:NoSchedule in 10 seconds: waiting-1\n' +
      'Warning: if it stays: kubectl taint node waiting-1 example.com/network:NoSchedule-\n';
    await expect
      .poll(async () => (await relabel('--dry-run=server')).stderr, { timeout: 30_000, interval: 500 })
      .toBe(relabeled);
    // Another label, and a change of the taints, are no reason.
    expect(await cp().kubectl(['label', 'node', 'waiting-1', 'rack=7'])).toMatchObject({ code: 0, stderr: '' });
    for (let call = 0; call < 4; call++) {
      const deleted = await cp().kubectl(['delete', 'taintpolicy', 'network', '--dry-run=server']);
      expect(deleted).toMatchObject({ code: 0, stderr: `${lost}\n` });
    }
    expect(await cp().kubectl(['delete', 'taintpolicy', 'network'])).toMatchObject({ code: 0, stderr: `${lost}\n` });
    await waitForTaints(cp(), 'waiting-1');
    // A new node that is not ready gets the taint late: it would wait again.
    await cp().request(admin, 'DELETE', '/api/v1/nodes/waiting-1');
  });

  it('the leader removes a startup taint after a label change if its policy no longer selects the node', async () => {
    await applyStartupTaint();
    await createWaiting('waiting-2');
    await waitForStatus(cp(), 'network', ({ waiting }) => waiting === 1);
    expect((await cp().kubectl(['label', 'node', 'waiting-2', 'zone=b', '--overwrite'])).code).toBe(0);
    await waitForTaints(cp(), 'waiting-2');
    await cp().request(admin, 'DELETE', '/api/v1/nodes/waiting-2');
    await cp().kubectl(['delete', 'taintpolicy', 'network']);
  });

  it('nothing of the deletion of a policy without startup taints', async () => {
    expect(await apply(MISSPELT)).toMatchObject({ code: 0 });
    expect(await cp().kubectl(['delete', 'taintpolicy', 'typo'])).toMatchObject({ code: 0, stderr: '' });
  });

  it('that another policy requires another value, which the conditions of both and explain report, too', async () => {
    const requiring = (value: string) => ({
      mode: 'Restore',
      nodeSelector: { matchLabels: { zone: 'a' } },
      taints: [{ key: 'dedicated', value, effect: 'NoSchedule', ensure: 'Always' }],
    });
    const applied = (name: string, value: string, ...args: string[]) =>
      cp().kubectl(['apply', '-f', '-', ...args], {
        input: JSON.stringify(policyObject('TaintPolicy', name, requiring(value))),
      });
    expect(await applied('gpu', 'gpu')).toMatchObject({ code: 0, stderr: '' });
    await expect
      .poll(async () => (await applied('ml', 'ml', '--dry-run=server')).stderr, { timeout: 15_000, interval: 1_000 })
      .toBe('Warning: TaintPolicy gpu requires dedicated=gpu:NoSchedule on node gpu-2, and wins over this policy\n');
    expect((await applied('ml', 'ml')).code).toBe(0);
    for (const name of ['gpu', 'ml']) {
      const { conditions } = await waitForStatus(cp(), name, ({ conditions: found = [] }) =>
        found.some(({ reason }) => reason === 'RequiredValuesDiffer'),
      );
      expect(conditions?.find(({ type }) => type === 'Stalled')?.message).toBe(
        'TaintPolicies gpu and ml select node gpu-2 and require dedicated=gpu:NoSchedule and dedicated=ml:NoSchedule: ' +
          'a node that registers gets dedicated=gpu:NoSchedule, because both are in mode Restore, and gpu comes first by name; ' +
          'a running node keeps what it carries',
      );
    }
    const { code, stdout } = await runAs(admin, cp(), ['explain', 'node', 'gpu-2']);
    expect(code).toBe(1);
    expect(stdout).toContain(
      'a node that registers gets dedicated=gpu:NoSchedule: both are in mode Restore, and gpu comes first by name',
    );
    expect(stdout).toContain('next: kubectl edit taintpolicy ml');
  });

  it('nothing, and takes it, where the webhook does not answer', async () => {
    await Promise.all([...installation.replicas.values()].map((replica) => replica.kill()));
    expect(await apply({ ...MISSPELT, mode: 'Audit' })).toMatchObject({ code: 0, stderr: '' });
  });
});
