import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { NODE_METADATA_POLICY } from '../../src/native/node-metadata.ts';
import { makeClusterAdmin } from '../control-plane/cluster-admin.ts';
import { APPLY_PATCH, MERGE_PATCH, STRATEGIC_MERGE_PATCH } from '../control-plane/content-types.ts';
import { describeWithControlPlane } from '../control-plane/describe-with-control-plane.ts';
import { admin, developer, node, serviceAccount, type User } from '../control-plane/users.ts';
import { waitUntil } from '../control-plane/wait-until.ts';
import {
  createNodes,
  createTaintPolicy,
  establish,
  patchNode,
  waitForAnnotation,
  waitForRecord,
  waitForStatus,
  waitForTaints,
  waitUntilRestored,
} from './drift.ts';
import { readEvaluations } from './evaluations.ts';
import { type Installation, install } from './installation.ts';
import { type Attempt, attempt, getNode, kubectl, type Node, path, RELEASE, type Taint, taintsOf } from './nodes.ts';
import { POLICIES_PATH } from './policy-resources.ts';

/** The policies exempt it. */
const owner = serviceAccount('kube-system', 'cluster-autoscaler');
/** An agent such as node-problem-detector: it may read nodes and write their status, and nothing else. */
const agent = serviceAccount('monitoring', 'node-agent');

const RESERVED: Taint = { key: 'example.com/reserved', value: 'x', effect: 'NoSchedule' };
const RESERVED_TEXT = 'example.com/reserved=x:NoSchedule';
const TEAM: Taint = { key: 'team.example.com/a', effect: 'NoSchedule' };
const TEAM_TEXT = 'team.example.com/a:NoSchedule';
const REQUIRED: Taint = { key: 'example.com/required', effect: 'NoSchedule' };
const REQUIRED_TEXT = 'example.com/required:NoSchedule';

/** An owner that does not exist: the garbage collector deletes what names only such owners, and the taints of a Node with it. */
const ORPHANED = {
  ownerReferences: [{ apiVersion: 'v1', kind: 'Namespace', name: 'none', uid: '00000000-0000-4000-8000-000000000000' }],
};

describeWithControlPlane('what a user without permission writes on a Node', {}, (cp) => {
  let installation: Installation;
  let earlier: readonly string[];

  beforeAll(async () => {
    earlier = await readEvaluations(cp());
    installation = await install(cp());
    await installation.start(['a']);
    await grantStatus();
    for (const mode of ['Deny', 'Restore']) {
      await createTaintPolicy(cp(), `guard-${mode.toLowerCase()}`, {
        mode,
        taints: [{ key: 'example.com/reserved', restrict: ['Addition'] }],
        exempt: { users: [owner.name] },
      });
    }
    await createTaintPolicy(cp(), 'kept', { taints: [{ key: 'example.com/kept', restrict: ['Removal'] }] });
    await createTaintPolicy(cp(), 'team', { taints: [{ key: 'team.example.com/*', restrict: ['Removal'] }] });
    await createTaintPolicy(cp(), 'required', {
      taints: [{ ...REQUIRED, ensure: 'Always' }],
      removalByAnnotation: 'Forbidden',
      exempt: { users: [owner.name] },
    });
    await createTaintPolicy(cp(), 'strict', {
      taints: [{ ...TEAM, restrict: ['Removal'] }],
      removalByAnnotation: 'Forbidden',
      exempt: { users: [owner.name] },
    });
    await waitUntilGuarded('guard-deny');
    await waitUntilGuarded('guard-restore');
    // The last one: once the API server asks about its taint, it asks about those of all.
    await createNodes(cp(), ['strict-probe'], 'strict', [TEAM]);
    await waitUntilRestored(cp(), 'strict-probe', TEAM.key);
    await waitUntilEnforced();
  });
  afterAll(() => installation?.stop());

  async function grantStatus(): Promise<void> {
    const metadata = { name: 'node-agent' };
    const rbac = '/apis/rbac.authorization.k8s.io/v1';
    const rules = [
      { apiGroups: [''], resources: ['nodes'], verbs: ['get'] },
      { apiGroups: [''], resources: ['nodes/status'], verbs: ['patch', 'update'] },
    ];
    const roleRef = { apiGroup: 'rbac.authorization.k8s.io', kind: 'ClusterRole', name: metadata.name };
    const subjects = [{ kind: 'ServiceAccount', namespace: 'monitoring', name: 'node-agent' }];
    await cp().request(admin, 'POST', `${rbac}/clusterroles`, { body: { metadata, rules } });
    await cp().request(admin, 'POST', `${rbac}/clusterrolebindings`, { body: { metadata, roleRef, subjects } });
    await makeClusterAdmin(cp(), 'User', owner.name);
  }

  /** Waits until the API server asks about additions: those of somebody who is not exempt do not stay. */
  async function waitUntilGuarded(pool: string): Promise<void> {
    await createNodes(cp(), [`${pool}-probe`], pool);
    await waitUntil(
      async () => ((await addReserved(`${pool}-probe`, true)).includes(RESERVED_TEXT) ? undefined : true),
      {
        timeoutMs: 60_000,
        otherwise: () => `${pool} does not restrict additions of its taint`,
      },
    );
  }

  /** Waits until the API server knows its own policy. */
  async function waitUntilEnforced(): Promise<void> {
    await waitUntil(
      async () => ((await forge('guard-deny-probe', { [RELEASE]: 'x' }, true)).passed ? undefined : true),
      {
        timeoutMs: 30_000,
        otherwise: () => 'annotations can be changed through nodes/status',
      },
    );
  }

  /** The taints that the node would have, or has, after somebody who is not exempt adds the guarded one. */
  async function addReserved(name: string, dryRun = false): Promise<string[]> {
    const { body } = await cp().request<{ spec?: { taints?: Taint[] } }>(
      developer,
      'PATCH',
      `${path(name)}${dryRun ? '?dryRun=All' : ''}`,
      { body: { spec: { taints: [RESERVED] } }, contentType: MERGE_PATCH },
    );
    return (body.spec?.taints ?? []).map(({ key, value, effect }) => `${key}${value ? `=${value}` : ''}:${effect}`);
  }

  const statusOf = (name: string) => `${path(name)}/status`;

  /** A write of annotations by way of nodes/status. */
  const forge = (name: string, annotations: Record<string, string | null>, dryRun = false): Promise<Attempt> =>
    attempt(
      cp(),
      agent,
      'PATCH',
      statusOf(name) + (dryRun ? '?dryRun=All' : ''),
      { metadata: { annotations } },
      MERGE_PATCH,
    );

  const annotationsOf = async (name: string) => (await getNode(cp(), name)).metadata.annotations ?? {};

  describe('through nodes/status', () => {
    it('announces no removal, by any kind of write and any user', async () => {
      const own = 'e-1';
      await createNodes(cp(), [own], 'team', [TEAM]);
      const body = { metadata: { annotations: { [RELEASE]: TEAM_TEXT } } };
      const denied = {
        passed: false,
        error:
          `nodes "${own}" is forbidden: ValidatingAdmissionPolicy 'taintkeeper-node-metadata' with binding 'taintkeeper-node-metadata' denied request: ` +
          `node ${own}: changing annotation ${RELEASE} through nodes/status or as a kubelet is not allowed. ` +
          `To announce the removal of a taint: kubectl annotate --overwrite node ${own} ${RELEASE}=KEY:EFFECT`,
      };
      for (const user of [agent, developer, admin, node(own)]) {
        expect(await attempt(cp(), user, 'PATCH', statusOf(own), body, MERGE_PATCH), user.name).toMatchObject(denied);
        expect(await attempt(cp(), user, 'PATCH', statusOf(own), body, STRATEGIC_MERGE_PATCH)).toMatchObject(denied);
        const copy = await getNode(cp(), own);
        const forged = { ...copy, metadata: { ...copy.metadata, ...body.metadata } };
        expect(await attempt(cp(), user, 'PUT', statusOf(own), forged)).toMatchObject(denied);
      }
      const applied = { apiVersion: 'v1', kind: 'Node', metadata: { name: own, ...body.metadata } };
      const apply = `${statusOf(own)}?fieldManager=agent&force=true`;
      expect(await attempt(cp(), agent, 'PATCH', apply, applied, APPLY_PATCH)).toMatchObject(denied);
      expect(await annotationsOf(own)).toEqual({});
    });

    it('names no owner, by any kind of write and any user', async () => {
      const own = 'o-1';
      await createNodes(cp(), [own], 'team', [TEAM]);
      const denied = {
        passed: false,
        error:
          `nodes "${own}" is forbidden: ValidatingAdmissionPolicy 'taintkeeper-node-metadata' with binding 'taintkeeper-node-metadata' denied request: ` +
          `node ${own}: changing ownerReferences through nodes/status or as a kubelet is not allowed, ` +
          `because a Node whose owners do not exist is deleted with its taints. To change them: kubectl edit node ${own}`,
      };
      const body = { metadata: ORPHANED };
      for (const user of [agent, developer, admin]) {
        expect(await attempt(cp(), user, 'PATCH', statusOf(own), body, MERGE_PATCH), user.name).toMatchObject(denied);
        expect(await attempt(cp(), user, 'PATCH', statusOf(own), body, STRATEGIC_MERGE_PATCH)).toMatchObject(denied);
        const copy = await getNode(cp(), own);
        const forged = { ...copy, metadata: { ...copy.metadata, ...ORPHANED } };
        expect(await attempt(cp(), user, 'PUT', statusOf(own), forged)).toMatchObject(denied);
      }
      const many = Array.from({ length: 8_000 }, (_, index) => ({ ...ORPHANED.ownerReferences[0], uid: `${index}` }));
      const crowd = { metadata: { ownerReferences: many } };
      expect(await attempt(cp(), agent, 'PATCH', statusOf(own), crowd, MERGE_PATCH)).toMatchObject(denied);
      // The API server's own NodeRestriction denies it, too.
      expect(await attempt(cp(), node(own), 'PATCH', statusOf(own), body, MERGE_PATCH)).toMatchObject({
        passed: false,
      });
    });

    it('takes the protection of a pattern from no taint', async () => {
      await createNodes(cp(), ['c-1'], 'team', [TEAM]);
      await establish(cp(), 'c-1', TEAM);
      for (let round = 0; round < 20; round++) {
        expect((await forge('c-1', { [RELEASE]: TEAM_TEXT })).passed).toBe(false);
        await patchNode(cp(), developer, 'c-1', { spec: { taints: null } });
        expect(await taintsOf(cp(), 'c-1')).toEqual([TEAM_TEXT]);
      }
    });
  });

  describe('through the Node itself', () => {
    it('a kubelet announces no removal', async () => {
      await createNodes(cp(), ['k-1'], 'team');
      const body = { metadata: { annotations: { [RELEASE]: TEAM_TEXT } } };
      expect(await patchNode(cp(), node('k-1'), 'k-1', body)).toMatchObject({
        passed: false,
        error: expect.stringContaining(
          `changing annotation ${RELEASE} through nodes/status or as a kubelet is not allowed`,
        ),
      });
    });

    it('a kubelet names no owner when it registers', async () => {
      const metadata = { name: 'k-owned', ...ORPHANED };
      expect(await attempt(cp(), node('k-owned'), 'POST', '/api/v1/nodes', { metadata })).toMatchObject({
        passed: false,
        error: expect.stringContaining('changing ownerReferences through nodes/status or as a kubelet is not allowed'),
      });
    });

    it('a kubelet registers without an announcement', async () => {
      const metadata = {
        name: 'k-new',
        labels: { pool: 'team' },
        annotations: { [RELEASE]: TEAM_TEXT, kept: 'by the kubelet' },
      };
      const answer = await cp().request(node('k-new'), 'POST', '/api/v1/nodes', { body: { metadata } });
      expect(answer.status).toBe(201);
      expect(await annotationsOf('k-new')).toEqual({ kept: 'by the kubelet' });
    });

    describe('by a user who may patch nodes, and whom no policy exempts', () => {
      it.each([{ mode: 'deny' }, { mode: 'restore' }])('no restricted taint is added: $mode', async ({ mode }) => {
        const name = `p-${mode}`;
        await createNodes(cp(), [name], `guard-${mode}`);
        await patchNode(cp(), developer, name, { metadata: { annotations: { [RELEASE]: RESERVED_TEXT } } });
        await addReserved(name);
        expect(await taintsOf(cp(), name)).toEqual([]);
      });

      it('an entry keeps no required taint away where the policy forbids removal by annotation', async () => {
        await createNodes(cp(), ['p-forged', 'p-noticed', 'p-plain'], 'none');
        for (const [name, annotations] of Object.entries({
          'p-forged': { [RELEASE]: REQUIRED_TEXT },
          'p-noticed': { [RELEASE]: `${REQUIRED_TEXT}-` },
          'p-plain': {},
        })) {
          const metadata = { labels: { pool: 'required' }, annotations };
          expect(await patchNode(cp(), developer, name, { metadata })).toMatchObject({ passed: true });
        }
        await waitForTaints(cp(), 'p-plain', REQUIRED_TEXT);
        for (const name of ['p-forged', 'p-noticed']) {
          await waitForTaints(cp(), name, REQUIRED_TEXT);
          await waitForAnnotation(cp(), name, RELEASE, undefined);
          await waitForRecord(cp(), name);
        }
      });

      it('a notice in the update that removes the taint does not count while the policy audits', async () => {
        const audited = { taints: [{ ...REQUIRED, ensure: 'Always' }], removalByAnnotation: 'Forbidden' };
        await createNodes(cp(), ['p-audited'], 'audited', [REQUIRED]);
        await createTaintPolicy(cp(), 'audited', { ...audited, mode: 'Audit' });
        await waitForStatus(cp(), 'audited', ({ matched }) => matched === 1);
        const body = { metadata: { annotations: { [RELEASE]: `${REQUIRED_TEXT}-` } }, spec: { taints: null } };
        expect(await patchNode(cp(), developer, 'p-audited', body)).toMatchObject({ passed: true });
        await waitForStatus(cp(), 'audited', ({ violating }) => violating === 1);
        await cp().request(admin, 'PATCH', `${POLICIES_PATH.TaintPolicy}/audited`, {
          body: { spec: { mode: 'Restore' } },
          contentType: MERGE_PATCH,
        });
        await waitForTaints(cp(), 'p-audited', REQUIRED_TEXT);
      });

      it('an entry in the same update lets no taint be removed', async () => {
        await createNodes(cp(), ['p-both'], 'strict', [TEAM]);
        await waitForRecord(cp(), 'p-both', TEAM_TEXT);
        for (let round = 0; round < 20; round++) {
          await patchNode(cp(), developer, 'p-both', {
            metadata: { annotations: { [RELEASE]: round % 2 === 0 ? TEAM_TEXT : `${TEAM_TEXT}-` } },
            spec: { taints: null },
          });
          expect(await taintsOf(cp(), 'p-both')).toEqual([TEAM_TEXT]);
        }
        await waitForRecord(cp(), 'p-both', TEAM_TEXT);
      });

      it('an exempt user can remove a taint that others cannot, and the leader does not restore it', async () => {
        await createNodes(cp(), ['p-owner'], 'strict', [TEAM]);
        await waitForRecord(cp(), 'p-owner', TEAM_TEXT);
        const taken = await cp().request<Node>(owner, 'PATCH', path('p-owner'), {
          body: { spec: { taints: null } },
          contentType: MERGE_PATCH,
        });
        expect(taken.status).toBe(200);
        expect(taken.body.metadata.annotations).toEqual({ [RELEASE]: 'team.example.com/a=:NoSchedule-' });
        await waitForRecord(cp(), 'p-owner');
        await waitForAnnotation(cp(), 'p-owner', RELEASE, undefined);
        expect(await taintsOf(cp(), 'p-owner')).toEqual([]);
      });
    });
  });

  describe('a generateName that is longer than a name, and of which a Node makes no use,', () => {
    const generateName = `${'a'.repeat(253)}-`;

    it('takes the protection from no taint', async () => {
      await createNodes(cp(), ['g-1'], 'strict', [TEAM]);
      for (const metadata of [{ generateName }, { generateName: null }]) {
        expect(await patchNode(cp(), developer, 'g-1', { metadata, spec: { taints: null } })).toMatchObject({
          passed: true,
        });
        expect(await taintsOf(cp(), 'g-1')).toEqual([TEAM_TEXT]);
      }
    });

    it('hides no node from the leader', async () => {
      await createNodes(cp(), ['g-2'], 'none');
      const metadata = { generateName, labels: { pool: 'required' } };
      expect(await patchNode(cp(), developer, 'g-2', { metadata })).toMatchObject({ passed: true });
      await waitForTaints(cp(), 'g-2', REQUIRED_TEXT);
    });

    it('lets no kubelet register without a required taint', async () => {
      const metadata = { name: 'g-3', generateName, labels: { pool: 'required' } };
      expect((await cp().request(node('g-3'), 'POST', '/api/v1/nodes', { body: { metadata } })).status).toBe(201);
      expect(await taintsOf(cp(), 'g-3')).toEqual([REQUIRED_TEXT]);
    });

    it('is not written through nodes/status, where nothing limits it', async () => {
      await createNodes(cp(), ['g-4'], 'team');
      for (const user of [agent, developer, admin, node('g-4')]) {
        for (const text of [generateName, 'a'.repeat(1_000_000)]) {
          const body = { metadata: { generateName: text } };
          expect(await attempt(cp(), user, 'PATCH', statusOf('g-4'), body, MERGE_PATCH), user.name).toMatchObject({
            passed: false,
            error: expect.stringContaining('changing generateName through nodes/status or as a kubelet is not allowed'),
          });
        }
      }
    });
  });

  it('through nodes/status, no swap capacity is written with which the API server refuses every update of the Node', async () => {
    await createNodes(cp(), ['s-1'], 'team');
    const swapOf = (capacity: number) => ({ status: { nodeInfo: { swap: { capacity } } } });
    for (const user of [agent, admin, node('s-1')]) {
      for (const capacity of [-1, 0]) {
        expect(
          await attempt(cp(), user, 'PATCH', statusOf('s-1'), swapOf(capacity), MERGE_PATCH),
          user.name,
        ).toMatchObject({
          passed: false,
          error: expect.stringContaining('a swap capacity in status.nodeInfo must be positive'),
        });
      }
      expect(await attempt(cp(), user, 'PATCH', statusOf('s-1'), swapOf(1), MERGE_PATCH)).toMatchObject({
        passed: true,
      });
    }
    expect(await patchNode(cp(), developer, 's-1', { metadata: { labels: { a: 'b' } } })).toMatchObject({
      passed: true,
    });
  });

  describe('writes that forge nothing', () => {
    const HEARTBEAT = { status: { conditions: [{ type: 'Ready', status: 'True', reason: 'KubeletReady' }] } };
    const passes = async (user: User, method: string, url: string, body: unknown, contentType?: string) =>
      expect(await attempt(cp(), user, method, url, body, contentType), `${user.name} ${method}`).toMatchObject({
        passed: true,
        error: '',
      });

    it('pass, on nodes with and without annotations, by patch and by PUT', async () => {
      await createNodes(cp(), ['h-bare', 'h-listed'], 'team', [TEAM]);
      await establish(cp(), 'h-listed', TEAM);
      for (const name of ['h-bare', 'h-listed']) {
        for (const user of [agent, node(name), admin]) {
          await passes(user, 'PATCH', statusOf(name), HEARTBEAT, STRATEGIC_MERGE_PATCH);
          const copy = (await getNode(cp(), name)) as Node & { status?: object };
          await passes(user, 'PUT', statusOf(name), { ...copy, status: { ...copy.status, ...HEARTBEAT.status } });
          const other = {
            metadata: {
              annotations: { 'example.com/seen': user.name },
              labels: { [`seen-${user.groups.length}`]: 'y' },
            },
          };
          await passes(user, 'PATCH', statusOf(name), other, MERGE_PATCH);
        }
        await passes(node(name), 'PATCH', path(name), { metadata: { labels: { zone: 'a' } } }, MERGE_PATCH);
      }
    });

    it('pass on a node with an owner, which a controller may set', async () => {
      await createNodes(cp(), ['h-owned'], 'team');
      const [kept] = ORPHANED.ownerReferences;
      const { uid } = (await getNode(cp(), 'h-owned')).metadata;
      const metadata = { ownerReferences: [{ ...kept, kind: 'Node', name: 'h-owned', uid }] };
      await passes(developer, 'PATCH', path('h-owned'), { metadata }, MERGE_PATCH);
      for (const user of [agent, node('h-owned')]) {
        await passes(user, 'PATCH', statusOf('h-owned'), HEARTBEAT, STRATEGIC_MERGE_PATCH);
      }
    });

    it('conflict, and forge nothing, where they bring an old copy; and are refused without its version', async () => {
      await createNodes(cp(), ['h-stale'], 'team', [TEAM]);
      const stale = await getNode(cp(), 'h-stale');
      const announced = { metadata: { annotations: { [RELEASE]: TEAM_TEXT } } };
      expect(await patchNode(cp(), admin, 'h-stale', announced)).toMatchObject({ passed: true });
      const conflict = await cp().request(agent, 'PUT', statusOf('h-stale'), { body: stale });
      expect(conflict.status).toBe(409);
      const { resourceVersion: _, ...metadata } = stale.metadata;
      const blind = await cp().request(agent, 'PUT', statusOf('h-stale'), { body: { ...stale, metadata } });
      expect(blind.status).toBe(403);
    });

    it('kubectl patch node --subresource=status is one of them', async () => {
      await createNodes(cp(), ['h-kubectl'], 'team');
      const patch = JSON.stringify(HEARTBEAT);
      const args = ['patch', 'node', 'h-kubectl', '--subresource=status', '--type=strategic', '-p', patch];
      expect(await kubectl(cp(), admin, args)).toMatchObject({ passed: true, error: '' });
    });

    it('a release is announced through the Node itself, as before', async () => {
      await createNodes(cp(), ['h-release'], 'team', [TEAM]);
      await establish(cp(), 'h-release', TEAM);
      expect(
        await kubectl(cp(), developer, ['annotate', 'node', 'h-release', `${RELEASE}=${TEAM_TEXT}`]),
      ).toMatchObject({
        passed: true,
      });
      expect(await patchNode(cp(), developer, 'h-release', { spec: { taints: null } })).toMatchObject({ passed: true });
      expect(await taintsOf(cp(), 'h-release')).toEqual([]);
    });
  });

  it('the API server evaluates the policy without an error', async () => {
    const lines = (await readEvaluations(cp())).filter((line) => !earlier.includes(line));
    const linesOf = (metric: string) => lines.filter((line) => line.startsWith(`${metric}{`));
    const checks = linesOf('apiserver_validating_admission_policy_check_total').filter((line) =>
      line.includes(`policy="${NODE_METADATA_POLICY}"`),
    );
    // What is denied counts as invalid_error.
    const errorTypes = checks.map((line) =>
      /enforcement_action="(\w+)",error_type="(\w+)"/.exec(line)?.slice(1).join(),
    );
    expect(errorTypes).toEqual(['deny,invalid_error']);
    expect(linesOf('apiserver_admission_match_condition_evaluation_errors_total')).toEqual([]);
  });
});
