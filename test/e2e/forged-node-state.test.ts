import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { STARTUP_BOOT_ANNOTATION } from '../../src/judge/node-boot.ts';
import { NODE_METADATA_POLICY } from '../../src/native/node-metadata.ts';
import { grantRules, makeClusterAdmin } from '../control-plane/cluster-admin.ts';
import { APPLY_PATCH, MERGE_PATCH, STRATEGIC_MERGE_PATCH } from '../control-plane/content-types.ts';
import { describeWithControlPlane } from '../control-plane/describe-with-control-plane.ts';
import { admin, developer, node, serviceAccount, type User } from '../control-plane/users.ts';
import { waitUntil } from '../control-plane/wait-until.ts';
import { createNodes, createTaintPolicy, patchNode, waitForEvent, waitForTaints, waitUntilRestored } from './drift.ts';
import { readEvaluations } from './evaluations.ts';
import { type Installation, install } from './installation.ts';
import { type Attempt, attempt, getNode, kubectl, type Node, path, RELEASE, type Taint, taintsOf } from './nodes.ts';

/** A policy exempts it. */
const owner = serviceAccount('kube-system', 'cluster-autoscaler');
/** An agent such as node-problem-detector: it may read nodes and write their status, and nothing else. */
const agent = serviceAccount('monitoring', 'node-agent');

const TEAM: Taint = { key: 'team.example.com/a', effect: 'NoSchedule' };
const TEAM_TEXT = 'team.example.com/a:NoSchedule';
/** The pools cpu and gpu each require a value of their own. */
const DEDICATED = { key: 'dedicated', effect: 'NoSchedule' } as const;
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
    await createTaintPolicy(cp(), 'team', { taints: [{ key: 'team.example.com/*' }] });
    await createTaintPolicy(cp(), 'required', {
      taints: [{ ...REQUIRED, ensure: 'Always' }],
      removalByAnnotation: 'Forbidden',
    });
    for (const pool of ['cpu', 'gpu']) {
      await createTaintPolicy(cp(), pool, { taints: [{ ...DEDICATED, value: pool, ensure: 'Always' }] });
    }
    await createTaintPolicy(cp(), 'strict', {
      taints: [{ ...TEAM }],
      removalByAnnotation: 'Forbidden',
      exempt: { users: [owner.name] },
    });
    // The last one: once the API server asks about its taint, it asks about those of all.
    await createNodes(cp(), ['strict-probe'], 'strict', [TEAM]);
    await waitUntilRestored(cp(), 'strict-probe', TEAM.key);
    await waitUntilEnforced();
  });
  afterAll(() => installation?.stop());

  async function grantStatus(): Promise<void> {
    const rules = [
      { apiGroups: [''], resources: ['nodes'], verbs: ['get'] },
      { apiGroups: [''], resources: ['nodes/status'], verbs: ['patch', 'update'] },
    ];
    const subject = { kind: 'ServiceAccount', namespace: 'monitoring', name: 'node-agent' };
    await grantRules(cp(), 'node-agent', subject, rules);
    await makeClusterAdmin(cp(), 'User', owner.name);
  }

  /** Waits until the API server knows its own policy. */
  async function waitUntilEnforced(): Promise<void> {
    await waitUntil(async () => ((await forge('strict-probe', { [RELEASE]: 'x' }, true)).passed ? undefined : true), {
      timeoutMs: 30_000,
      otherwise: () => 'annotations can be changed through nodes/status',
    });
  }

  const statusOf = (name: string) => `${path(name)}/status`;
  const nodeInfo = (bootID: string) => ({ nodeInfo: { bootID } });

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
    it('no user allows a removal, by any kind of write', async () => {
      const own = 'e-1';
      await createNodes(cp(), [own], 'team', [TEAM]);
      const body = { metadata: { annotations: { [RELEASE]: TEAM_TEXT } } };
      const denied = {
        passed: false,
        error:
          `nodes "${own}" is forbidden: ValidatingAdmissionPolicy 'taintkeeper-node-metadata' with binding 'taintkeeper-node-metadata' denied request: ` +
          `node ${own}: changing annotation ${RELEASE} through nodes/status or as a kubelet is not allowed. ` +
          `To allow the removal of a taint: kubectl annotate node ${own} ${RELEASE}=KEY:EFFECT`,
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

    it('no user changes for which boot startup taints were set', async () => {
      const own = 'b-1';
      await createNodes(cp(), [own], 'team', [TEAM]);
      const denied = {
        passed: false,
        error:
          `nodes "${own}" is forbidden: ValidatingAdmissionPolicy 'taintkeeper-node-metadata' with binding 'taintkeeper-node-metadata' denied request: ` +
          `node ${own}: changing annotation ${STARTUP_BOOT_ANNOTATION} through nodes/status or as a kubelet is not allowed, ` +
          'because startup taints would not be set again after a reboot. A kubelet that registers may only write its own boot ID',
      };
      const body = { metadata: { annotations: { [STARTUP_BOOT_ANNOTATION]: 'boot-2' } }, status: nodeInfo('boot-2') };
      for (const user of [agent, developer, admin, node(own)]) {
        expect(await attempt(cp(), user, 'PATCH', statusOf(own), body, MERGE_PATCH), user.name).toMatchObject(denied);
      }
      expect(await patchNode(cp(), node(own), own, { metadata: body.metadata })).toMatchObject(denied);
      expect(await patchNode(cp(), admin, own, { metadata: body.metadata })).toMatchObject({ passed: true });
      const removal = { metadata: { annotations: { [STARTUP_BOOT_ANNOTATION]: null } } };
      expect(await attempt(cp(), agent, 'PATCH', statusOf(own), removal, MERGE_PATCH)).toMatchObject(denied);
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

    it('the label of another pool brings no node the taint of that pool: nor does a kubelet by its Node', async () => {
      const labels = { metadata: { labels: { pool: 'gpu' } } };
      for (const [own, join] of [
        ['l-agent', () => attempt(cp(), agent, 'PATCH', statusOf('l-agent'), labels, MERGE_PATCH)],
        ['l-kubelet', () => patchNode(cp(), node('l-kubelet'), 'l-kubelet', labels)],
      ] as const) {
        await createNodes(cp(), [own], 'cpu', [{ ...DEDICATED, value: 'cpu' }]);
        expect(await join(), own).toMatchObject({ passed: true });
        const { note } = await waitForEvent(cp(), own, 'TaintMissing');
        expect(note).toContain('the node carries another value of it, which another policy protects or sets');
        expect(await taintsOf(cp(), own)).toEqual(['dedicated=cpu:NoSchedule']);
      }
      // A user who may change the taints moves a node to another pool in one request, as before.
      await createNodes(cp(), ['l-moved'], 'cpu', [{ ...DEDICATED, value: 'cpu' }]);
      expect(await patchNode(cp(), developer, 'l-moved', labels)).toMatchObject({ passed: true });
      expect(await taintsOf(cp(), 'l-moved')).toEqual(['dedicated=gpu:NoSchedule']);
    });

    it('a refused entry permits no removal of a taint that a pattern protects', async () => {
      await createNodes(cp(), ['c-1'], 'team', [TEAM]);
      for (let round = 0; round < 20; round++) {
        expect((await forge('c-1', { [RELEASE]: TEAM_TEXT })).passed).toBe(false);
        await patchNode(cp(), developer, 'c-1', { spec: { taints: null } });
        expect(await taintsOf(cp(), 'c-1')).toEqual([TEAM_TEXT]);
      }
    });
  });

  describe('through the Node itself', () => {
    it('a kubelet allows no removal', async () => {
      await createNodes(cp(), ['k-1'], 'team');
      const body = { metadata: { annotations: { [RELEASE]: TEAM_TEXT } } };
      expect(await patchNode(cp(), node('k-1'), 'k-1', body)).toMatchObject({
        passed: false,
        error: expect.stringContaining(
          `changing annotation ${RELEASE} through nodes/status or as a kubelet is not allowed`,
        ),
      });
    });

    it.each([
      { why: 'its own boot', name: 'b-own', annotation: 'boot-1', status: nodeInfo('boot-1'), passed: true },
      { why: 'another boot', name: 'b-other', annotation: 'boot-2', status: nodeInfo('boot-1'), passed: false },
      {
        why: 'its own with a time',
        name: 'b-time',
        annotation: 'boot-1 2099-01-01T00:00:00Z',
        status: nodeInfo('boot-1'),
        passed: false,
      },
      { why: 'a boot, and reports none', name: 'b-none', annotation: 'boot-1', status: {}, passed: false },
    ])('a kubelet registers with $why: $passed', async ({ name, annotation, status, passed }) => {
      const body = { metadata: { name, annotations: { [STARTUP_BOOT_ANNOTATION]: annotation } }, status };
      expect(await attempt(cp(), node(name), 'POST', '/api/v1/nodes', body)).toMatchObject({
        passed,
        error: passed ? '' : expect.stringContaining(`changing annotation ${STARTUP_BOOT_ANNOTATION} through`),
      });
    });

    it('a kubelet names no owner when it registers', async () => {
      const metadata = { name: 'k-owned', ...ORPHANED };
      expect(await attempt(cp(), node('k-owned'), 'POST', '/api/v1/nodes', { metadata })).toMatchObject({
        passed: false,
        error: expect.stringContaining('changing ownerReferences through nodes/status or as a kubelet is not allowed'),
      });
    });

    it('a kubelet does not register with an entry: the webhook deletes it', async () => {
      const metadata = {
        name: 'k-new',
        labels: { pool: 'required' },
        annotations: { [RELEASE]: REQUIRED_TEXT, kept: 'by the kubelet' },
      };
      const answer = await cp().request(node('k-new'), 'POST', '/api/v1/nodes', { body: { metadata } });
      expect(answer.status, JSON.stringify(answer.body)).toBe(201);
      expect(await annotationsOf('k-new')).toEqual({ kept: 'by the kubelet' });
      expect(await taintsOf(cp(), 'k-new')).toEqual([REQUIRED_TEXT]);
    });

    describe('by a user who may patch nodes, and whom no policy exempts', () => {
      it('an entry keeps no required taint off where the policy forbids removal by annotation', async () => {
        await createNodes(cp(), ['p-forged', 'p-old', 'p-plain'], 'required', [REQUIRED]);
        for (const [name, annotations] of Object.entries({
          'p-forged': { [RELEASE]: REQUIRED_TEXT },
          'p-old': { [RELEASE]: `${REQUIRED_TEXT}-` },
          'p-plain': {},
        })) {
          expect(await patchNode(cp(), developer, name, { metadata: { annotations } })).toMatchObject({ passed: true });
        }
        // The API server cannot call the replica, which goes on leading.
        installation.cutOff('a');
        for (const name of ['p-forged', 'p-old', 'p-plain']) {
          expect((await patchNode(cp(), developer, name, { spec: { taints: null } })).error).toBe('');
          await waitForTaints(cp(), name, REQUIRED_TEXT);
        }
        await installation.reconnect('a');
        await waitUntilRestored(cp(), 'strict-probe', TEAM.key);
      });

      it('a request that no replica judges, with removal and entry in one, removes no required taint for long', async () => {
        await createNodes(cp(), ['p-unjudged', 'p-padded'], 'required', [REQUIRED]);
        installation.cutOff('a');
        for (const [name, pad] of Object.entries({ 'p-unjudged': '', 'p-padded': ','.repeat(200_000) })) {
          const annotations = { [RELEASE]: REQUIRED_TEXT, pad };
          const sent = await patchNode(cp(), developer, name, { metadata: { annotations }, spec: { taints: null } });
          expect(sent).toMatchObject({ passed: true, error: '' });
          await waitForTaints(cp(), name, REQUIRED_TEXT);
        }
        await installation.reconnect('a');
        await waitUntilRestored(cp(), 'strict-probe', TEAM.key);
      });

      it.each([
        { name: 'p-both', why: 'an entry in the same update', annotation: TEAM_TEXT, before: undefined },
        { name: 'p-dash', why: 'an entry with a dash, as earlier versions wrote it', before: `${TEAM_TEXT}-` },
        { name: 'p-key', why: 'a key alone', before: TEAM.key },
        { name: 'p-pattern', why: 'a pattern', before: 'team.example.com/*:NoSchedule' },
        { name: 'p-effect', why: 'another effect', before: `${TEAM.key}:NoExecute` },
        { name: 'p-value', why: 'another value', before: `${TEAM.key}=x:NoSchedule` },
        { name: 'p-object', why: 'no list at all', before: '{"key":"team.example.com/a"}' },
      ])('$why permits no removal', async ({ name, annotation, before }) => {
        await createNodes(cp(), [name], 'team', [TEAM]);
        if (before !== undefined) {
          const metadata = { annotations: { [RELEASE]: before } };
          expect(await patchNode(cp(), developer, name, { metadata })).toMatchObject({ passed: true });
        }
        await patchNode(cp(), developer, name, {
          ...(annotation === undefined ? {} : { metadata: { annotations: { [RELEASE]: annotation } } }),
          spec: { taints: null },
        });
        expect(await taintsOf(cp(), name)).toEqual([TEAM_TEXT]);
      });

      it('a relabelled node is judged by its old labels in the update that removes the taint', async () => {
        await createNodes(cp(), ['p-relabelled'], 'strict', [TEAM]);
        const body = { metadata: { labels: { pool: null } }, spec: { taints: null } };
        await patchNode(cp(), developer, 'p-relabelled', body);
        expect(await taintsOf(cp(), 'p-relabelled')).toEqual([TEAM_TEXT]);
      });

      it('a taint that is added first changes nothing', async () => {
        await createNodes(cp(), ['p-dummy'], 'strict', [TEAM]);
        const dummy = { key: 'example.com/dummy', effect: 'PreferNoSchedule' };
        expect(await patchNode(cp(), developer, 'p-dummy', { spec: { taints: [TEAM, dummy] } })).toMatchObject({
          passed: true,
        });
        await patchNode(cp(), developer, 'p-dummy', { spec: { taints: [dummy] } });
        expect((await taintsOf(cp(), 'p-dummy')).toSorted()).toEqual(['example.com/dummy:PreferNoSchedule', TEAM_TEXT]);
      });

      it('an apply of no taints by force, and forged or erased managedFields, remove none', async () => {
        await createNodes(cp(), ['p-fields'], 'strict', [TEAM]);
        const applied = { apiVersion: 'v1', kind: 'Node', metadata: { name: 'p-fields' }, spec: { taints: [] } };
        const apply = `${path('p-fields')}?fieldManager=developer&force=true`;
        await attempt(cp(), developer, 'PATCH', apply, applied, APPLY_PATCH);
        expect(await taintsOf(cp(), 'p-fields')).toEqual([TEAM_TEXT]);
        const forged = [
          {
            manager: 'kube-controller-manager',
            operation: 'Update',
            apiVersion: 'v1',
            time: '2020-01-01T00:00:00Z',
            fieldsType: 'FieldsV1',
            fieldsV1: { 'f:spec': { 'f:taints': {} } },
          },
        ];
        for (const managedFields of [[{}], forged]) {
          await patchNode(cp(), developer, 'p-fields', { metadata: { managedFields }, spec: { taints: null } });
          expect(await taintsOf(cp(), 'p-fields')).toEqual([TEAM_TEXT]);
        }
      });

      it('a list that is too long to be judged, and an entry in the same update, remove no required taint', async () => {
        await createNodes(cp(), ['p-many'], 'required', [REQUIRED]);
        const many = Array.from({ length: 200 }, (_, index) => ({
          key: `example.com/many-${index}`,
          effect: 'PreferNoSchedule',
        }));
        await patchNode(cp(), developer, 'p-many', { spec: { taints: [REQUIRED, ...many] } });
        const body = { metadata: { annotations: { [RELEASE]: REQUIRED_TEXT } }, spec: { taints: null } };
        await patchNode(cp(), developer, 'p-many', body);
        expect(await taintsOf(cp(), 'p-many')).toContain(REQUIRED_TEXT);
      });

      it('an exempt user can remove a taint that others cannot', async () => {
        await createNodes(cp(), ['p-owner'], 'strict', [TEAM]);
        const taken = await cp().request<Node>(owner, 'PATCH', path('p-owner'), {
          body: { spec: { taints: null } },
          contentType: MERGE_PATCH,
        });
        expect(taken.status).toBe(200);
        expect(taken.body.metadata.annotations ?? {}).not.toHaveProperty([RELEASE]);
        expect(await taintsOf(cp(), 'p-owner')).toEqual([]);
      });
    });

    it('while the webhook is down, a policy that fails closed refuses a removal with an entry in the same update', async () => {
      const closed: Taint = { key: 'example.com/closed', effect: 'NoSchedule' };
      await createTaintPolicy(cp(), 'closed', { mode: 'Deny', taints: [{ key: closed.key }] });
      await createNodes(cp(), ['p-closed'], 'closed', [closed]);
      const body = {
        metadata: { annotations: { [RELEASE]: 'example.com/closed:NoSchedule' } },
        spec: { taints: null },
      };
      const isInForce = async () => {
        const tried = await attempt(cp(), developer, 'PATCH', `${path('p-closed')}?dryRun=All`, body, MERGE_PATCH);
        return tried.error.includes('TaintPolicy "closed"');
      };
      await expect.poll(isInForce, { timeout: 30_000 }).toBe(true);
      installation.cutOff('a');
      try {
        expect(await patchNode(cp(), developer, 'p-closed', body)).toMatchObject({
          passed: false,
          error: expect.stringContaining('failed calling webhook'),
        });
        expect(await taintsOf(cp(), 'p-closed')).toEqual(['example.com/closed:NoSchedule']);
      } finally {
        await installation.reconnect('a');
      }
    });

    it('while the webhook is down, a kubelet does not register with an entry', async () => {
      installation.cutOff('a');
      try {
        const metadata = { name: 'k-down', labels: { pool: 'required' }, annotations: { [RELEASE]: REQUIRED_TEXT } };
        expect(await attempt(cp(), node('k-down'), 'POST', '/api/v1/nodes', { metadata })).toMatchObject({
          passed: false,
          error: expect.stringContaining(
            `changing annotation ${RELEASE} through nodes/status or as a kubelet is not allowed`,
          ),
        });
      } finally {
        await installation.reconnect('a');
      }
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
      const allowed = { metadata: { annotations: { [RELEASE]: TEAM_TEXT } } };
      expect(await patchNode(cp(), admin, 'h-stale', allowed)).toMatchObject({ passed: true });
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

    it('a removal is allowed through the Node itself, for as long as the entry stands', async () => {
      await createNodes(cp(), ['h-allowed'], 'team', [TEAM]);
      expect(
        await kubectl(cp(), developer, ['annotate', 'node', 'h-allowed', `${RELEASE}=${TEAM_TEXT}`]),
      ).toMatchObject({ passed: true });
      expect(await patchNode(cp(), developer, 'h-allowed', { spec: { taints: null } })).toMatchObject({ passed: true });
      expect(await taintsOf(cp(), 'h-allowed')).toEqual([]);
      expect(await annotationsOf('h-allowed')).toMatchObject({ [RELEASE]: TEAM_TEXT });
      // To set the taint ends the entry.
      expect(await patchNode(cp(), developer, 'h-allowed', { spec: { taints: [TEAM] } })).toMatchObject({
        passed: true,
      });
      expect(await annotationsOf('h-allowed')).not.toHaveProperty([RELEASE]);
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
