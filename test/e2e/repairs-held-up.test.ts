import { afterAll, beforeAll, expect, it } from 'vitest';
import { STARTUP_BOOT_ANNOTATION } from '../../src/judge/node-boot.ts';
import { MERGE_PATCH } from '../control-plane/content-types.ts';
import { describeWithControlPlane } from '../control-plane/describe-with-control-plane.ts';
import { succeeded } from '../control-plane/rest.ts';
import { admin, developer, node, type User } from '../control-plane/users.ts';
import { waitUntil } from '../control-plane/wait-until.ts';
import {
  createNodes,
  createTaintPolicy,
  eventsAbout,
  patchNode,
  waitForAnnotation,
  waitForEvent,
  waitForStatus,
  waitForTaints,
} from './drift.ts';
import { type Installation, install } from './installation.ts';
import { MUTATING_VERSION, obstacleToMutation } from './native-rig.ts';
import { attempt, GPU, getNode, OTHER, path, taintsOf } from './nodes.ts';
import { POLICIES_PATH } from './policy-resources.ts';

const GPU_TEXT = 'dedicated=gpu:NoSchedule';
const CLUSTER_ROLE = '/apis/rbac.authorization.k8s.io/v1/clusterroles/taintkeeper';
/** TotalAnnotationSizeLimitB of k8s.io/apimachinery/pkg/api/validation. */
const ANNOTATIONS_MAX_BYTES = 256 * 1024;

describeWithControlPlane('nodes that the leader cannot simply repair', { mutatingPolicies: true }, (cp) => {
  let installation: Installation;

  beforeAll(async () => {
    installation = await install(cp());
    await installation.start(['a']);
    await createTaintPolicy(cp(), 'keep', { taints: [{ ...GPU, ensure: 'Always' }] });
    // The API server cannot call the replica, which goes on leading: admission sets and restores nothing.
    installation.cutOff('a');
  });
  afterAll(async () => {
    await installation?.stop();
  });

  /** An annotation that takes all the room that the others of the node leave. */
  async function fillingAnnotations(name: string): Promise<{ junk: string }> {
    const { annotations = {} } = (await getNode(cp(), name)).metadata;
    const used = ['junk', ...Object.entries(annotations).flat()].join('').length;
    return { junk: 'x'.repeat(ANNOTATIONS_MAX_BYTES - used) };
  }

  it('a required taint comes back to a node whose kubelet leaves no room for annotations', async () => {
    await createNodes(cp(), ['full'], 'keep', [GPU]);
    expect(
      (await patchNode(cp(), developer, 'full', { spec: { taints: [] }, metadata: { labels: { pool: null } } })).error,
    ).toBe('');
    const body = { metadata: { annotations: await fillingAnnotations('full') } };
    const { status } = await cp().request(node('full'), 'PATCH', `${path('full')}/status`, {
      body,
      contentType: MERGE_PATCH,
    });
    expect(status).toBe(200);
    expect((await patchNode(cp(), admin, 'full', { metadata: { labels: { pool: 'keep' } } })).error).toBe('');
    await waitForTaints(cp(), 'full', GPU_TEXT);
  });

  it('a required taint comes back to a node without room for the record of its reboot', async () => {
    const storage = { key: 'example.com/storage', effect: 'NoSchedule' } as const;
    const readyWhen = { allocatable: [{ resource: 'example.com/disk' }] };
    await createTaintPolicy(cp(), 'again', {
      nodeSelector: { matchLabels: { disk: 'yes' } },
      taints: [{ ...storage, ensure: 'UntilReady', afterReboot: 'SetAgain', readyWhen }],
    });
    await createNodes(cp(), ['rebooted'], 'keep', [GPU]);
    const report = async (body: object) => {
      const url = `${path('rebooted')}/status`;
      expect((await attempt(cp(), node('rebooted'), 'PATCH', url, body, MERGE_PATCH)).error).toBe('');
    };
    const change = async (user: User, body: object) =>
      expect((await patchNode(cp(), user, 'rebooted', body)).error).toBe('');
    await report({ status: { nodeInfo: { bootID: 'A' } } });
    await change(admin, { metadata: { labels: { disk: 'yes' } } });
    await waitForTaints(cp(), 'rebooted', GPU_TEXT, 'example.com/storage:NoSchedule');
    await waitForAnnotation(cp(), 'rebooted', STARTUP_BOOT_ANNOTATION, 'A');
    await change(developer, { spec: { taints: [storage] }, metadata: { labels: { pool: null } } });
    const annotations = await fillingAnnotations('rebooted');
    await report({ metadata: { annotations }, status: { nodeInfo: { bootID: 'B' } } });
    await waitForStatus(cp(), 'again', ({ conditions = [] }) =>
      conditions.some(({ type, reason }) => type === 'Stalled' && reason === 'StartupTaintRefused'),
    );
    await change(admin, { metadata: { labels: { pool: 'keep' } } });
    await waitForTaints(cp(), 'rebooted', 'example.com/storage:NoSchedule', GPU_TEXT);
    await succeeded(cp().request(admin, 'DELETE', path('rebooted')));
    await succeeded(cp().request(admin, 'DELETE', `${POLICIES_PATH.TaintPolicy}/again`));
  });

  it.skipIf(obstacleToMutation)(
    'a required taint that another mutation removes from each write is never reported as set',
    async () => {
      const admission = `/apis/admissionregistration.k8s.io/${MUTATING_VERSION}`;
      const metadata = { name: 'undo' };
      const policy = {
        metadata,
        spec: {
          failurePolicy: 'Fail',
          reinvocationPolicy: 'Never',
          matchConstraints: {
            resourceRules: [{ apiGroups: [''], apiVersions: ['v1'], operations: ['UPDATE'], resources: ['nodes'] }],
          },
          matchConditions: [
            { name: 'node', expression: "object.metadata.name == 'undone' && has(object.spec.taints)" },
          ],
          mutations: [
            {
              patchType: 'JSONPatch',
              jsonPatch: {
                expression:
                  "[JSONPatch{op: 'replace', path: '/spec/taints', value: object.spec.taints.filter(t, t.key != 'dedicated')}]",
              },
            },
          ],
        },
      };
      await createNodes(cp(), ['undone'], 'none', [OTHER]);
      await succeeded(cp().request(admin, 'POST', `${admission}/mutatingadmissionpolicies`, { body: policy }));
      await succeeded(
        cp().request(admin, 'POST', `${admission}/mutatingadmissionpolicybindings`, {
          body: { metadata, spec: { policyName: 'undo' } },
        }),
      );
      const isUndone = async () => {
        expect((await patchNode(cp(), admin, 'undone', { spec: { taints: [OTHER, GPU] } })).error).toBe('');
        return (await taintsOf(cp(), 'undone')).length === 1 || undefined;
      };
      await waitUntil(isUndone, { timeoutMs: 30_000, otherwise: () => 'the API server does not call the mutation' });
      expect((await patchNode(cp(), admin, 'undone', { metadata: { labels: { pool: 'keep' } } })).error).toBe('');
      const { conditions } = await waitForStatus(cp(), 'keep', (status) =>
        Boolean(status.conditions?.some(({ message }) => message?.includes('undoes the change'))),
      );
      expect(conditions).toContainEqual(expect.objectContaining({ type: 'Stalled', status: 'True' }));
      await waitForEvent(cp(), 'undone', 'TaintConflict');
      expect(await eventsAbout(cp(), 'undone', 'TaintAdded')).toEqual([]);
      for (const kind of ['mutatingadmissionpolicybindings', 'mutatingadmissionpolicies']) {
        await succeeded(cp().request(admin, 'DELETE', `${admission}/${kind}/undo`));
      }
      await succeeded(cp().request(admin, 'DELETE', path('undone')));
    },
  );

  it('a right that is missing is in the status of the policy until it is there', async () => {
    await waitForStatus(cp(), 'keep', (status) => !status.conditions?.some(({ type }) => type === 'Stalled'));
    const { body: role } = await cp().request<{ rules: { resources?: string[]; verbs: string[] }[] }>(
      admin,
      'GET',
      CLUSTER_ROLE,
    );
    const rules = role.rules.map((rule) =>
      rule.resources?.includes('nodes') ? { ...rule, verbs: ['get', 'list', 'watch'] } : rule,
    );
    const put = (body: object) => cp().request(admin, 'PATCH', CLUSTER_ROLE, { body, contentType: MERGE_PATCH });
    expect((await put({ rules })).status).toBe(200);
    await createNodes(cp(), ['refused'], 'none');
    await patchNode(cp(), admin, 'refused', { metadata: { labels: { pool: 'keep' } } });
    const { conditions } = await waitForStatus(
      cp(),
      'keep',
      (status) => status.conditions?.some(({ type }) => type === 'Stalled') ?? false,
    );
    expect(conditions).toContainEqual(
      expect.objectContaining({
        type: 'Stalled',
        reason: 'RepairRefused',
        message: expect.stringContaining('/api/v1/nodes/refused: 403 Forbidden'),
      }),
    );
    expect((await put({ rules: role.rules })).status).toBe(200);
    await waitForTaints(cp(), 'refused', GPU_TEXT);
    await waitForStatus(cp(), 'keep', (status) => !status.conditions?.some(({ type }) => type === 'Stalled'));
  });
});
