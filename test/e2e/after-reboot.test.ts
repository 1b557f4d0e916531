import { randomUUID } from 'node:crypto';
import { afterAll, beforeAll, expect, it } from 'vitest';
import { formatStartupBoot, parseStartupBoot, STARTUP_BOOT_ANNOTATION } from '../../src/judge/node-boot.ts';
import { SETTLING_MS } from '../../src/judge/startup/reboot.ts';
import { MERGE_PATCH } from '../control-plane/content-types.ts';
import { describeWithControlPlane } from '../control-plane/describe-with-control-plane.ts';
import { admin, node } from '../control-plane/users.ts';
import { waitUntil } from '../control-plane/wait-until.ts';
import { createTaintPolicy, patchNode, waitForAnnotation, waitForEvent, waitForTaints } from './drift.ts';
import { type Installation, install } from './installation.ts';
import { type NodeVersions, watchNodeVersions } from './node-versions.ts';
import { type Attempt, attempt, getNode, path, taintsOf } from './nodes.ts';
import { POLICIES_PATH } from './policy-resources.ts';

const POOL = 'gpu';
const KEY = 'example.com/gpu-starting';
const TEXT = `${KEY}:NoSchedule`;
const RESOURCE = 'example.com/gpu';
const TIMEOUT_MS = 60_000;
/** The leader removes the taint within this time after it may. */
const REMOVED_WITHIN_MS = 20_000;

const SPEC = {
  taints: [
    {
      key: KEY,
      effect: 'NoSchedule',
      ensure: 'UntilReady',
      readyWhen: { allocatable: [{ resource: RESOURCE }] },
      afterReboot: 'SetAgain',
    },
  ],
};

describeWithControlPlane('a taint with afterReboot: SetAgain', {}, (cp) => {
  let installation: Installation;
  let versions: NodeVersions;

  beforeAll(async () => {
    installation = await install(cp());
    await installation.start(['a']);
    await createTaintPolicy(cp(), POOL, SPEC);
    let last: Attempt | undefined;
    await waitUntil(
      async () => {
        // A registration that counts would use up the first Events, after which they come one in two seconds.
        last = await register('probe', randomUUID(), '?dryRun=All');
        return last.warnings.length > 0 || undefined;
      },
      { timeoutMs: TIMEOUT_MS, otherwise: () => `the node registered with ${JSON.stringify(last)}` },
    );
    versions = await watchNodeVersions(cp());
  });
  afterAll(async () => {
    await versions?.stop();
    await installation?.stop();
  });

  const statusOf = (bootID: string, gpus: string, ready: 'True' | 'False') => ({
    nodeInfo: { bootID },
    conditions: [{ type: 'Ready', status: ready, reason: 'Test' }],
    allocatable: { [RESOURCE]: gpus },
    capacity: { [RESOURCE]: '8' },
  });

  /** As a kubelet does. */
  const register = (name: string, bootID: string, query = '') =>
    attempt(cp(), node(name), 'POST', `/api/v1/nodes${query}`, {
      metadata: { name, labels: { pool: POOL } },
      status: statusOf(bootID, '0', 'False'),
    });

  /** As a kubelet does. It writes the boot and the rest at once. */
  async function report(name: string, bootID: string, gpus: string, ready: 'True' | 'False' = 'True') {
    const body = { status: statusOf(bootID, gpus, ready) };
    expect(await attempt(cp(), node(name), 'PATCH', `${path(name)}/status`, body, MERGE_PATCH)).toMatchObject({
      passed: true,
      error: '',
    });
  }

  /** A node whose devices are there in its first boot, and whose taint is off. Without the taint of the API server, it does not count as new. */
  async function registerReady(name: string): Promise<string> {
    const boot = randomUUID();
    expect(await register(name, boot)).toMatchObject({ passed: true });
    expect(await taintsOf(cp(), name)).toEqual([TEXT]);
    expect((await getNode(cp(), name)).metadata.annotations?.[STARTUP_BOOT_ANNOTATION]).toBe(boot);
    await report(name, boot, '8');
    await waitForTaints(cp(), name);
    expect(await patchNode(cp(), admin, name, { spec: { taints: null } })).toMatchObject({ passed: true });
    return boot;
  }

  /** What the annotation says. */
  const recorded = async (name: string) =>
    parseStartupBoot((await getNode(cp(), name)).metadata.annotations?.[STARTUP_BOOT_ANNOTATION]);

  /** Waits until the leader has written the boot, and gives the time that it wrote. */
  const waitForBoot = (name: string, boot: string) =>
    waitUntil(
      async () => {
        const found = await recorded(name);
        return found?.bootId === boot ? (found.setAt ?? 0) : undefined;
      },
      { timeoutMs: TIMEOUT_MS, otherwise: () => `${name} has no record of ${boot}` },
    );

  /** Waits until the taint is off, which it must not be before the time is over. */
  async function waitForRemoval(name: string, setAt: number): Promise<void> {
    await waitUntil(async () => ((await taintsOf(cp(), name)).length === 0 ? true : undefined), {
      timeoutMs: SETTLING_MS + REMOVED_WITHIN_MS,
      otherwise: () => `${name} keeps its taint`,
    });
    expect(Date.now()).toBeGreaterThanOrEqual(setAt + SETTLING_MS);
  }

  /** Everything that a write of the leader changes, in the versions of the node since then. */
  const changesSince = (name: string, count: number) =>
    versions
      .of(name)
      .slice(count)
      .map(({ taints, annotations }) => `${taints.includes(TEXT)} ${annotations[STARTUP_BOOT_ANNOTATION]}`)
      .filter((one, index, all) => one !== all[index - 1]);

  async function restartLeader(name: string): Promise<void> {
    await installation.kill();
    await installation.start([name]);
  }

  it('is set again after a reboot, and stays until what readyWhen reads is of this boot', async () => {
    await Promise.all(['old', 'killed', 'twice', 'by-hand', 'replaced', 'kubelet'].map(registerReady));
    await versions.caughtUp();
    const kubeletBoot = (await recorded('kubelet'))?.bootId ?? '';
    const quiet = versions.of('kubelet').length;
    const exported = await getNode(cp(), 'replaced');
    const [old, twice, byHand, replaced] = [randomUUID(), randomUUID(), randomUUID(), randomUUID()];

    // The devices of the boot before.
    await report('old', old, '8');
    await report('twice', twice, '8');
    await report('by-hand', byHand, '8');
    await report('replaced', replaced, '8');
    const setAt = await waitForBoot('old', old);
    await Promise.all(['old', 'twice', 'by-hand', 'replaced'].map((name) => waitForTaints(cp(), name, TEXT)));
    expect((await waitForEvent(cp(), 'old', 'TaintAdded')).note).toBe(
      `added startup taint ${TEXT} again: the node has rebooted`,
    );

    // A kubelet that restarts, and reports no devices until a plugin has registered again.
    await report('kubelet', kubeletBoot, '0', 'False');
    await report('kubelet', kubeletBoot, '8');
    // It is removed by hand in this boot.
    await waitForBoot('by-hand', byHand);
    expect(await patchNode(cp(), admin, 'by-hand', { spec: { taints: null } })).toMatchObject({ passed: true });
    // It reboots while it waits.
    const third = randomUUID();
    await report('twice', third, '8', 'False');
    await waitForBoot('twice', third);

    // The leader ends between the status and its write, and before the time is over.
    await installation.kill();
    const killed = randomUUID();
    await report('killed', killed, '8');
    await installation.start(['b']);
    const killedAt = await waitForBoot('killed', killed);
    await waitForTaints(cp(), 'killed', TEXT);

    // The kubelet has rewritten its status: the devices are not there yet.
    await report('old', old, '0');
    await waitUntil(async () => Date.now() > killedAt + SETTLING_MS - 1_000 || undefined, {
      timeoutMs: SETTLING_MS + TIMEOUT_MS,
      otherwise: () => 'the time does not pass',
    });
    await restartLeader('c');
    await waitForRemoval('killed', killedAt);
    expect(await taintsOf(cp(), 'old')).toEqual([TEXT]);
    await report('old', old, '8');
    await waitForRemoval('old', setAt);
    expect(await taintsOf(cp(), 'twice')).toEqual([TEXT]);
    await report('twice', third, '8');
    await waitForTaints(cp(), 'twice');
    await waitForTaints(cp(), 'replaced');

    // The old annotation with the present status: one round.
    const { resourceVersion: _, ...metadata } = exported.metadata;
    expect(await attempt(cp(), admin, 'PUT', path('replaced'), { ...exported, metadata })).toMatchObject({
      passed: true,
    });
    const again = await waitForBoot('replaced', replaced);
    await waitForTaints(cp(), 'replaced', TEXT);
    await waitForRemoval('replaced', again);

    await versions.caughtUp();
    // In no version, the taint was off before its time.
    expect(changesSince('old', 0).slice(-3)).toEqual([
      expect.stringMatching(/^false \S+$/),
      `true ${formatStartupBoot({ bootId: old, setAt })}`,
      `false ${formatStartupBoot({ bootId: old, setAt })}`,
    ]);
    // Without the taint at first, as it was exported.
    expect(changesSince('replaced', 0).map((one) => one.split(' ')[0])).toEqual(
      'true false true false false true false'.split(' '),
    );
    expect(changesSince('kubelet', quiet)).toEqual([`false ${kubeletBoot}`]);
    expect(await taintsOf(cp(), 'by-hand')).toEqual([]);
    expect((await recorded('by-hand'))?.bootId).toBe(byHand);
  }, 240_000);

  it('a boot ID that goes back and forth is followed three times, and an empty one changes nothing', async () => {
    const first = await registerReady('back-and-forth');
    const known = await registerReady('empty');
    const second = randomUUID();
    for (const boot of [second, first, second]) {
      await report('back-and-forth', boot, '8');
      await waitForBoot('back-and-forth', boot);
    }
    await report('back-and-forth', first, '8');
    expect((await waitForEvent(cp(), 'back-and-forth', 'TaintConflict')).note).toBe(
      `pauses setting startup taint ${TEXT} again: the boot ID of the node changes repeatedly`,
    );
    expect((await recorded('back-and-forth'))?.bootId).toBe(second);
    expect(await taintsOf(cp(), 'back-and-forth')).toEqual([TEXT]);

    await versions.caughtUp();
    const quiet = versions.of('empty').length;
    await report('empty', '', '8');
    const next = randomUUID();
    await report('empty', next, '8');
    const setAt = await waitForBoot('empty', next);
    await versions.caughtUp();
    expect(changesSince('empty', quiet)).toEqual([
      `false ${known}`,
      `true ${formatStartupBoot({ bootId: next, setAt })}`,
    ]);
  }, 120_000);

  it('existing nodes are adopted without the taint, and get it after their next reboot', async () => {
    await cp().request(admin, 'DELETE', `${POLICIES_PATH.TaintPolicy}/${POOL}`);
    await waitUntil(
      async () => {
        await cp().request(admin, 'DELETE', path('adopted'));
        await register('adopted', 'boot-1');
        return (await taintsOf(cp(), 'adopted')).length === 0 || undefined;
      },
      { timeoutMs: TIMEOUT_MS, otherwise: () => 'a node registers with the taint' },
    );
    await report('adopted', 'boot-1', '8');
    await patchNode(cp(), admin, 'adopted', { spec: { taints: null } });
    await createTaintPolicy(cp(), POOL, SPEC);
    await waitForAnnotation(cp(), 'adopted', STARTUP_BOOT_ANNOTATION, 'boot-1');
    expect(await taintsOf(cp(), 'adopted')).toEqual([]);
    await report('adopted', 'boot-2', '8');
    await waitForTaints(cp(), 'adopted', TEXT);
  }, 120_000);
});
