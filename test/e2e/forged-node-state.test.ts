import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { NODE_ANNOTATIONS_POLICY } from '../../src/native/node-annotations.ts';
import { APPLY_PATCH, MERGE_PATCH, STRATEGIC_MERGE_PATCH } from '../control-plane/content-types.ts';
import { describeWithControlPlane } from '../control-plane/describe-with-control-plane.ts';
import { admin, developer, node, serviceAccount, type User } from '../control-plane/users.ts';
import { waitUntil } from '../control-plane/wait-until.ts';
import {
  createNodes,
  createTaintPolicy,
  establish,
  patchNode,
  REMEMBERED,
  waitForAnnotation,
  waitForTaints,
  waitUntilRestored,
} from './drift.ts';
import { type Installation, install } from './installation.ts';
import { type Attempt, attempt, getNode, kubectl, type Node, path, RELEASE, type Taint, taintsOf } from './nodes.ts';

/** An agent such as node-problem-detector: it may read nodes and write their status, and nothing else. */
const agent = serviceAccount('monitoring', 'node-agent');
const REMOVED = 'taintkeeper.dev/removed';
const RESTORED = 'taintkeeper.dev/restored';

const RESERVED: Taint = { key: 'example.com/reserved', value: 'x', effect: 'NoSchedule' };
const RESERVED_TEXT = 'example.com/reserved=x:NoSchedule';
const TEAM: Taint = { key: 'team.example.com/a', effect: 'NoSchedule' };
const TEAM_TEXT = 'team.example.com/a:NoSchedule';
const REQUIRED: Taint = { key: 'example.com/required', effect: 'NoSchedule' };
const REQUIRED_TEXT = 'example.com/required:NoSchedule';
const OWNER = 'owner@example.com';

/** What each of the annotations would do: all of these attacks worked before the annotations were kept from nodes/status. */
const FORGERIES = [
  { name: REMEMBERED, value: RESERVED_TEXT },
  { name: REMOVED, value: REQUIRED_TEXT },
  { name: RESTORED, value: `kept ${TEAM_TEXT}` },
  { name: RELEASE, value: TEAM_TEXT },
];

describeWithControlPlane('annotations of a Node that somebody forges', {}, (cp) => {
  let installation: Installation;

  beforeAll(async () => {
    installation = await install(cp());
    await installation.start(['a']);
    await grantStatus();
    for (const mode of ['Deny', 'Restore']) {
      await createTaintPolicy(cp(), `guard-${mode.toLowerCase()}`, {
        mode,
        taints: [{ key: 'example.com/reserved', restrict: ['Addition'] }],
        exempt: { users: [OWNER] },
      });
    }
    await createTaintPolicy(cp(), 'kept', { taints: [{ key: 'example.com/kept', restrict: ['Removal'] }] });
    await createTaintPolicy(cp(), 'team', { taints: [{ key: 'team.example.com/*', restrict: ['Removal'] }] });
    await createTaintPolicy(cp(), 'required', {
      taints: [{ ...REQUIRED, ensure: 'Always' }],
      exempt: { users: [OWNER] },
    });
    await waitUntilGuarded('guard-deny');
    await waitUntilGuarded('guard-restore');
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
  }

  /** Waits until the API server asks about additions: those of somebody who is not exempt do not stay. */
  async function waitUntilGuarded(pool: string): Promise<void> {
    await createNodes(cp(), [`${pool}-probe`], pool);
    await waitUntil(
      async () => ((await addReserved(`${pool}-probe`, true)).includes(RESERVED_TEXT) ? undefined : true),
      {
        timeoutMs: 60_000,
        otherwise: () => `${pool} does not guard its taint`,
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
    it.each([{ mode: 'deny' }, { mode: 'restore' }])('adds no guarded taint: $mode', async ({ mode }) => {
      const name = `a-${mode}`;
      await createNodes(cp(), [name], `guard-${mode}`);
      const { passed, error } = await forge(name, { [REMEMBERED]: RESERVED_TEXT });
      await addReserved(name);
      expect(await taintsOf(cp(), name)).toEqual([]);
      expect([passed, error]).toEqual([
        false,
        `nodes "${name}" is forbidden: ValidatingAdmissionPolicy 'taintkeeper-node-annotations' with binding 'taintkeeper-node-annotations' denied request: ` +
          `node ${name}: changing annotation ${REMEMBERED} through nodes/status or as a kubelet is not allowed, because taintkeeper trusts it. ` +
          `To announce the removal of a taint: kubectl annotate node ${name} ${RELEASE}=KEY:EFFECT`,
      ]);
    });

    it.each([{ effect: 'NoSchedule' }, { effect: 'NoExecute' }])(
      'has the leader add no taint that the node never carried: $effect',
      async ({ effect }) => {
        const name = `b-${effect.toLowerCase()}`;
        const taint = `example.com/kept=forged:${effect}`;
        await createNodes(cp(), [name], 'kept');
        const { passed } = await forge(name, { [REMEMBERED]: taint });
        if (passed) await waitForTaints(cp(), name, taint);
        expect(passed).toBe(false);
        expect(await annotationsOf(name)).toEqual({});
      },
    );

    it('takes the protection of a pattern from no taint', async () => {
      await createNodes(cp(), ['c-1'], 'team', [TEAM]);
      await establish(cp(), 'c-1', TEAM);
      await waitUntilRestored(cp(), 'c-1', TEAM.key);
      const outcomes: boolean[] = [];
      for (let round = 0; round < 20; round++) {
        outcomes.push((await forge('c-1', { [REMEMBERED]: null })).passed);
        await patchNode(cp(), developer, 'c-1', { spec: { taints: null } });
      }
      expect(await taintsOf(cp(), 'c-1')).toEqual([TEAM_TEXT]);
      expect(outcomes).not.toContain(true);
    });

    it('does not wear out the leader', async () => {
      await createNodes(cp(), ['d-1'], 'team', [TEAM]);
      await establish(cp(), 'd-1', TEAM);
      for (let round = 0; round < 5; round++) {
        await forge('d-1', { [REMEMBERED]: null });
        await waitForAnnotation(cp(), 'd-1', REMEMBERED, TEAM_TEXT);
      }
    });

    it.each(FORGERIES)('changes no $name, by whatever kind of write, and whoever writes', async ({ name, value }) => {
      const own = `e-${name.split('/')[1]}`;
      await createNodes(cp(), [own], 'team');
      const body = { metadata: { annotations: { [name]: value } } };
      const denied = { passed: false, error: expect.stringContaining(`changing annotation ${name} through`) };
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
  });

  describe('through the Node itself', () => {
    it.each(FORGERIES)('a kubelet changes no $name through its Node', async ({ name, value }) => {
      const own = `k-${name.split('/')[1]}`;
      await createNodes(cp(), [own], 'team');
      expect(await patchNode(cp(), node(own), own, { metadata: { annotations: { [name]: value } } })).toMatchObject({
        passed: false,
        error: expect.stringContaining(
          `changing annotation ${name} through nodes/status or as a kubelet is not allowed`,
        ),
      });
    });

    it('a kubelet registers with none of them', async () => {
      const metadata = {
        name: 'k-new',
        labels: { pool: 'team' },
        annotations: {
          ...Object.fromEntries(FORGERIES.map(({ name, value }) => [name, value])),
          kept: 'by the kubelet',
        },
      };
      const answer = await cp().request(node('k-new'), 'POST', '/api/v1/nodes', { body: { metadata } });
      expect(answer.status).toBe(201);
      expect(await annotationsOf('k-new')).toEqual({ kept: 'by the kubelet' });
    });

    describe('by a user who may patch nodes', () => {
      const forgeNode = async (name: string, annotation: string, value: string) =>
        expect(
          await patchNode(cp(), developer, name, { metadata: { annotations: { [annotation]: value } } }),
        ).toMatchObject({ passed: true, error: '' });

      it('a forged annotation has the leader add no taint that the node never carried', async () => {
        await createNodes(cp(), ['p-kept'], 'kept');
        await forgeNode('p-kept', REMEMBERED, 'example.com/kept=forged:NoSchedule');
        await waitForAnnotation(cp(), 'p-kept', REMEMBERED, undefined);
        expect(await taintsOf(cp(), 'p-kept')).toEqual([]);
      });

      it.each([{ mode: 'deny' }, { mode: 'restore' }])(
        'a forged annotation lets no guarded taint be added: $mode',
        async ({ mode }) => {
          const name = `p-${mode}`;
          await createNodes(cp(), [name], `guard-${mode}`);
          await forgeNode(name, REMEMBERED, RESERVED_TEXT);
          await addReserved(name);
          expect(await taintsOf(cp(), name)).toEqual([]);
        },
      );

      it('an annotation that is deleted takes the protection of a pattern from no taint', async () => {
        await createNodes(cp(), ['p-team'], 'team', [TEAM]);
        await establish(cp(), 'p-team', TEAM);
        for (let round = 0; round < 20; round++) {
          const metadata = { annotations: { [REMEMBERED]: null } };
          await patchNode(cp(), developer, 'p-team', { metadata });
          expect(await patchNode(cp(), developer, 'p-team', { spec: { taints: null } })).toMatchObject({
            passed: true,
          });
          expect(await taintsOf(cp(), 'p-team')).toEqual([TEAM_TEXT]);
        }
      });

      // These annotations will be replaced by the NodeTaintRecord. Until then, the attacks below succeed for users who may patch nodes.

      it('a forged record of an exempt removal keeps a required taint away', async () => {
        await createNodes(cp(), ['p-removed', 'p-plain'], 'none');
        // In one request: the leader removes an entry that no policy asks for.
        for (const [name, annotations] of Object.entries({
          'p-removed': { [REMOVED]: REQUIRED_TEXT },
          'p-plain': {},
        })) {
          const metadata = { labels: { pool: 'required' }, annotations };
          expect(await patchNode(cp(), developer, name, { metadata })).toMatchObject({ passed: true });
        }
        await waitForTaints(cp(), 'p-plain', REQUIRED_TEXT);
        expect(await taintsOf(cp(), 'p-removed')).toEqual([]);
      });

      it('a forged record of a native policy has the leader report a taint that nobody restored', async () => {
        await createNodes(cp(), ['p-restored'], 'team');
        await forgeNode('p-restored', RESTORED, `team ${TEAM_TEXT}`);
        const events =
          '/apis/events.k8s.io/v1/namespaces/default/events?fieldSelector=regarding.name=p-restored,reason=TaintRestored';
        const notes = async () => {
          const { body } = await cp().request<{ items: { note: string }[] }>(admin, 'GET', events);
          return body.items.map(({ note }) => note);
        };
        await expect.poll(notes, { timeout: 30_000 }).toContainEqual(expect.stringContaining(TEAM_TEXT));
      });
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
      expect(await annotationsOf('h-listed')).toMatchObject({ [REMEMBERED]: TEAM_TEXT });
    });

    it('conflict, and forge nothing, where they bring an old copy; and are refused without its version', async () => {
      await createNodes(cp(), ['h-stale'], 'team', [TEAM]);
      const stale = await getNode(cp(), 'h-stale');
      await establish(cp(), 'h-stale', TEAM);
      const conflict = await cp().request(agent, 'PUT', statusOf('h-stale'), { body: stale });
      expect(conflict.status).toBe(409);
      const { resourceVersion: _, ...metadata } = stale.metadata;
      const blind = await cp().request(agent, 'PUT', statusOf('h-stale'), { body: { ...stale, metadata } });
      expect(blind.status).toBe(403);
      expect(await annotationsOf('h-stale')).toMatchObject({ [REMEMBERED]: TEAM_TEXT });
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
    const { body } = await cp().request<string>(admin, 'GET', '/metrics');
    const linesOf = (metric: string) => body.split('\n').filter((line) => line.startsWith(`${metric}{`));
    const checks = linesOf('apiserver_validating_admission_policy_check_total').filter((line) =>
      line.includes(`policy="${NODE_ANNOTATIONS_POLICY}"`),
    );
    // What is denied counts as invalid_error.
    const errorTypes = checks.map((line) =>
      /enforcement_action="(\w+)",error_type="(\w+)"/.exec(line)?.slice(1).join(),
    );
    expect(errorTypes).toEqual(['deny,invalid_error']);
    expect(linesOf('apiserver_admission_match_condition_evaluation_errors_total')).toEqual([]);
  });
});
