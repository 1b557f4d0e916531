import { randomUUID } from 'node:crypto';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { STARTUP_BOOT_ANNOTATION } from '../../src/judge/node-boot.ts';
import { deployedEnvironment } from '../control-plane/as-deployed.ts';
import { grantRules } from '../control-plane/cluster-admin.ts';
import { MERGE_PATCH } from '../control-plane/content-types.ts';
import { describeWithControlPlane } from '../control-plane/describe-with-control-plane.ts';
import type { Replica } from '../control-plane/replicas.ts';
import { developer, node, serviceAccount, type User } from '../control-plane/users.ts';
import { waitUntil } from '../control-plane/wait-until.ts';
import { createNodes, createTaintPolicy, patchNode, waitForTaints } from './drift.ts';
import { type Installation, install } from './installation.ts';
import { type Attempt, attempt, GPU, getNode, path, taintsOf } from './nodes.ts';
import { policyObject } from './policy-objects.ts';
import { POLICIES_PATH } from './policy-resources.ts';

/** It may create and delete policies, and nothing else. */
const author = serviceAccount('policies', 'author');

const POOL = 'starting';
const KEY = 'example.com/starting';
const TEXT = `${KEY}:NoSchedule`;
const RESOURCE = 'example.com/gpu';
const TIMEOUT_MS = 30_000;
const CSI_NODES = '/apis/storage.k8s.io/v1/csinodes';
/** More than the page keeps of one user. */
const DENIED = 120;

describeWithControlPlane('what a user with few rights does', {}, (cp) => {
  let installation: Installation;
  let replica: Replica;

  beforeAll(async () => {
    installation = await install(cp());
    [replica] = (await installation.start(['a'], { env: deployedEnvironment() })) as [Replica];
    await grant(author, [
      { apiGroups: ['taintkeeper.dev'], resources: ['taintpolicies'], verbs: ['create', 'delete'] },
    ]);
    await createTaintPolicy(cp(), POOL, {
      taints: [
        {
          key: KEY,
          effect: 'NoSchedule',
          ensure: 'UntilReady',
          readyWhen: { allocatable: [{ resource: RESOURCE }] },
          afterReboot: 'SetAgain',
        },
      ],
    });
    await createTaintPolicy(cp(), 'kept', { mode: 'Deny', taints: [GPU] });
    await waitUntil(async () => (await register('probe', '?dryRun=All')).warnings.length > 0 || undefined, {
      timeoutMs: TIMEOUT_MS,
      otherwise: () => 'nodes register without the taint',
    });
  });
  afterAll(() => installation?.stop());

  const grant = ({ name }: User, rules: readonly object[]) =>
    grantRules(cp(), 'few-rights', { apiGroup: 'rbac.authorization.k8s.io', kind: 'User', name }, rules);

  const statusOf = (gpus: string, bootID?: string) => ({
    ...(bootID === undefined ? {} : { nodeInfo: { bootID } }),
    conditions: [{ type: 'Ready', status: 'True', reason: 'Test' }],
    allocatable: { [RESOURCE]: gpus },
    capacity: { [RESOURCE]: '8' },
  });

  function register(name: string, query = ''): Promise<Attempt> {
    const body = { metadata: { name, labels: { pool: POOL } }, status: statusOf('0', randomUUID()) };
    return attempt(cp(), node(name), 'POST', `/api/v1/nodes${query}`, body);
  }

  describe('to the startup taint of a node', () => {
    it('patch nodes: a reboot in the future, and the taint stays no longer for it', async () => {
      expect(await register('future')).toMatchObject({ passed: true });
      const { metadata } = await getNode(cp(), 'future');
      const boot = metadata.annotations?.[STARTUP_BOOT_ANNOTATION];
      const annotations = { [STARTUP_BOOT_ANNOTATION]: `${boot} 2999-01-01T00:00:00Z` };
      expect(await patchNode(cp(), developer, 'future', { metadata: { annotations } })).toMatchObject({ passed: true });
      await cp().request(node('future'), 'PATCH', `${path('future')}/status`, {
        body: { status: statusOf('8') },
        contentType: MERGE_PATCH,
      });
      await waitForTaints(cp(), 'future');
    });

    it("a kubelet's certificate: neither the CSINode nor the status of another node can be written", async () => {
      expect(await register('victim')).toMatchObject({ passed: true });
      const { metadata } = await getNode(cp(), 'victim');
      const ownerReferences = [{ apiVersion: 'v1', kind: 'Node', name: 'victim', uid: metadata.uid }];
      const drivers = [{ name: 'csi.example.com', nodeID: 'victim' }];
      const csiNode = { metadata: { name: 'victim', ownerReferences }, spec: { drivers } };
      const refused = { passed: false, error: expect.stringContaining('forbidden') };
      expect(await attempt(cp(), node('future'), 'POST', CSI_NODES, csiNode)).toMatchObject(refused);
      const ready = { status: statusOf('8') };
      const write = attempt(cp(), node('future'), 'PATCH', `${path('victim')}/status`, ready, MERGE_PATCH);
      expect(await write).toMatchObject(refused);
      expect(await taintsOf(cp(), 'victim')).toEqual([TEXT]);
    });

    it('create policies: one with a startup taint that would evict pods is refused, also with afterReboot', async () => {
      const readyWhen = { allocatable: [{ resource: RESOURCE }] };
      const taint = { key: 'example.com/evicts', effect: 'NoExecute', ensure: 'UntilReady', readyWhen };
      for (const afterReboot of ['Ignore', 'SetAgain']) {
        const policy = policyObject('TaintPolicy', 'evicts', { mode: 'Restore', taints: [{ ...taint, afterReboot }] });
        expect(await attempt(cp(), author, 'POST', POLICIES_PATH.TaintPolicy, policy)).toMatchObject({
          passed: false,
          error: expect.stringContaining('ensure: UntilReady is only for effect NoSchedule'),
        });
      }
    });
  });

  it('create policies: a warning has the key of a taint of nodes that its reader may not read, and no name of a node', async () => {
    await createNodes(cp(), ['hidden'], 'hidden', [{ key: 'example.com/hidden-taint', effect: 'NoSchedule' }]);
    const spec = { mode: 'Deny', taints: [{ key: 'example.com/hidden-taints' }] };
    const policy = policyObject('TaintPolicy', 'curious', spec);
    const said = 'no node carries example.com/hidden-taints; did you mean example.com/hidden-taint?';
    const tried = () => attempt(cp(), author, 'POST', `${POLICIES_PATH.TaintPolicy}?dryRun=All`, policy);
    await expect.poll(async () => (await tried()).warnings).toEqual([said]);
  });

  it('patch nodes: more large denied requests than the page keeps, and the replica goes on with the memory of the chart', async () => {
    await createNodes(cp(), ['filled'], 'kept', [GPU]);
    const remove = (query = '') =>
      attempt(cp(), developer, 'PATCH', path('filled') + query, { spec: { taints: null } }, MERGE_PATCH);
    await waitUntil(async () => ((await remove('?dryRun=All')).passed ? undefined : true), {
      timeoutMs: TIMEOUT_MS,
      otherwise: () => 'the policy is not in force',
    });
    const images = Array.from({ length: 200 }, (_, n) => ({ names: [`${n}/${'x'.repeat(4_000)}`], sizeBytes: 1 }));
    const filled = { status: { images } };
    const write = attempt(cp(), developer, 'PATCH', `${path('filled')}/status`, filled, MERGE_PATCH);
    expect(await write).toMatchObject({ passed: true });
    for (let sent = 0; sent < DENIED; sent++) expect(await remove()).toMatchObject({ passed: false });
    expect(await taintsOf(cp(), 'filled')).toEqual(['dedicated=gpu:NoSchedule']);
    expect(await replica.metrics()).toContain('taintkeeper_leader 1');
  });
});
