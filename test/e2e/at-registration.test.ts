import { afterAll, beforeAll, expect, it } from 'vitest';
import { MERGE_PATCH } from '../control-plane/content-types.ts';
import { describeWithControlPlane } from '../control-plane/describe-with-control-plane.ts';
import { admin, developer, node } from '../control-plane/users.ts';
import { waitUntil } from '../control-plane/wait-until.ts';
import { createTaintPolicy, waitForStatus, waitForTaints } from './drift.ts';
import { type Installation, install } from './installation.ts';
import { type Attempt, attempt, path, type Taint, taintsOf } from './nodes.ts';
import { POLICIES_PATH } from './policy-resources.ts';

const POOL = 'startup';
const STARTUP: Taint = { key: 'example.com/preparing', value: 'yes', effect: 'NoSchedule' };
const REQUIRED: Taint = { key: 'dedicated', value: 'gpu', effect: 'NoSchedule' };
const [STARTUP_TEXT, REQUIRED_TEXT] = ['example.com/preparing=yes:NoSchedule', 'dedicated=gpu:NoSchedule'];

describeWithControlPlane('a taint with ensure: AtRegistration', {}, (cp) => {
  let installation: Installation;

  beforeAll(async () => {
    installation = await install(cp());
    await installation.start(['a', 'b']);
    const taints = [
      { ...STARTUP, ensure: 'AtRegistration' },
      { ...REQUIRED, ensure: 'Always' },
    ];
    await createTaintPolicy(cp(), POOL, { taints });
    await createTaintPolicy(cp(), 'domain', {
      mode: 'Deny',
      nodeSelector: { matchLabels: { pool: POOL } },
      taints: [{ key: 'example.com/*' }],
    });
    await register('probe');
    await waitForTaints(cp(), 'probe', STARTUP_TEXT, REQUIRED_TEXT);
  });
  afterAll(() => installation.stop());

  /** As a kubelet does; the webhook may not be registered yet. */
  async function register(name: string): Promise<void> {
    let last: unknown;
    await waitUntil(
      async () => {
        await cp().request(admin, 'DELETE', path(name));
        const body = { metadata: { name, labels: { pool: POOL } } };
        last = await attempt(cp(), node(name), 'POST', '/api/v1/nodes', body);
        return (last as Attempt).warnings.includes(`TaintPolicy ${POOL} added taint ${STARTUP_TEXT}`) || undefined;
      },
      { timeoutMs: 60_000, otherwise: () => `the node registered with ${JSON.stringify(last)}` },
    );
  }

  const setTaints = (name: string, taints: readonly Taint[]) =>
    attempt(cp(), developer, 'PATCH', path(name), { spec: { taints } }, MERGE_PATCH);

  /** The leader has compared all nodes once it has restored a required taint that was removed while no replica ran. */
  async function restartAll(): Promise<void> {
    await installation.kill();
    await cp().request(
      admin,
      'DELETE',
      '/apis/admissionregistration.k8s.io/v1/validatingwebhookconfigurations/taintkeeper',
    );
    await cp().request(
      admin,
      'DELETE',
      '/apis/admissionregistration.k8s.io/v1/mutatingwebhookconfigurations/taintkeeper',
    );
    expect(await setTaints('n1', [])).toMatchObject({ passed: true });
    await installation.start(['c', 'd']);
    await waitForTaints(cp(), 'n1', REQUIRED_TEXT);
  }

  it('is set in the request that creates the Node, and gone for good once removed', async () => {
    await register('n1');
    expect(await taintsOf(cp(), 'n1')).toEqual([STARTUP_TEXT, REQUIRED_TEXT]);

    expect(await setTaints('n1', [REQUIRED])).toMatchObject({ passed: true, warnings: [] });
    await attempt(cp(), developer, 'PATCH', path('n1'), { metadata: { labels: { a: 'b' } } }, MERGE_PATCH);
    expect(await taintsOf(cp(), 'n1')).toEqual([REQUIRED_TEXT]);

    // The leader restores the other one, and only that.
    expect(await setTaints('n1', [])).toMatchObject({ passed: true });
    await waitForTaints(cp(), 'n1', REQUIRED_TEXT);

    await restartAll();
    expect(await taintsOf(cp(), 'n1')).toEqual([REQUIRED_TEXT]);
  });

  it('may be added again by every user, and removed', async () => {
    await register('n2');
    expect(await setTaints('n2', [REQUIRED])).toMatchObject({ passed: true });
    expect(await setTaints('n2', [REQUIRED, STARTUP])).toMatchObject({ passed: true });
    expect(await setTaints('n2', [REQUIRED])).toMatchObject({ passed: true });
    expect(await taintsOf(cp(), 'n2')).toEqual([REQUIRED_TEXT]);
  });

  it('is set by the leader once its policy says Always, and may be removed once it says AtRegistration again', async () => {
    const setEnsure = async (ensure: string, generation: number) => {
      const taints = [
        { ...STARTUP, ensure },
        { ...REQUIRED, ensure: 'Always' },
      ];
      const { status } = await cp().request(admin, 'PATCH', `${POLICIES_PATH.TaintPolicy}/${POOL}`, {
        body: { spec: { taints } },
        contentType: MERGE_PATCH,
      });
      expect(status).toBe(200);
      // The leader has compared all nodes with the policy, and the API server calls the webhook for its taints.
      await waitForStatus(cp(), POOL, ({ conditions = [], violating }) => {
        const ready = conditions.find(({ type }) => type === 'Ready');
        return ready?.status === 'True' && ready.observedGeneration === generation && violating === 0;
      });
    };
    await register('n3');
    expect(await setTaints('n3', [REQUIRED])).toMatchObject({ passed: true, warnings: [] });
    await setEnsure('Always', 2);
    await waitForTaints(cp(), 'n3', STARTUP_TEXT, REQUIRED_TEXT);
    // The domain of the other policy covers it, now that no policy sets it as a startup taint.
    const isRemovable = async () => {
      const body = { spec: { taints: [REQUIRED] } };
      return (await attempt(cp(), developer, 'PATCH', `${path('n3')}?dryRun=All`, body, MERGE_PATCH)).passed;
    };
    await expect.poll(isRemovable, { timeout: 30_000, interval: 500 }).toBe(false);

    await setEnsure('AtRegistration', 3);
    await expect.poll(isRemovable, { timeout: 30_000, interval: 500 }).toBe(true);
    expect(await setTaints('n3', [REQUIRED])).toMatchObject({ passed: true, warnings: [] });
    const { matched = 0 } = await waitForStatus(cp(), POOL, ({ violating }) => violating === 0);
    await register('n4');
    await waitForStatus(cp(), POOL, (found) => (found.matched ?? 0) > matched);
    expect(await taintsOf(cp(), 'n3')).toEqual([REQUIRED_TEXT]);
  });
});
