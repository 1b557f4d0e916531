import { afterAll, beforeAll, expect, it } from 'vitest';
import { describeWithControlPlane } from '../control-plane/describe-with-control-plane.ts';
import { admin, developer } from '../control-plane/users.ts';
import {
  createNodes,
  createTaintPolicy,
  waitForAnnotation,
  waitForEvent,
  waitForRecord,
  waitForTaints,
  waitUntilRestored,
} from './drift.ts';
import { type Installation, install } from './installation.ts';
import { GPU, kubectl, path, RELEASE } from './nodes.ts';
import { runAs } from './run-taintkeeper.ts';

const GPU_TEXT = 'dedicated=gpu:NoSchedule';
const HOUR_MS = 3_600_000;

interface ManagedNode {
  readonly metadata: {
    annotations: Record<string, string>;
    readonly managedFields: { time: string; fieldsV1: object }[];
  };
}

describeWithControlPlane('a removal that is announced and not made', {}, (cp) => {
  let installation: Installation;
  beforeAll(async () => {
    installation = await install(cp());
    await installation.start(['a']);
    await createTaintPolicy(cp(), 'gpu', { taints: [{ key: GPU.key, restrict: ['Removal'] }] });
    await createNodes(cp(), ['old', 'new'], 'gpu', [GPU]);
    for (const name of ['old', 'new']) await waitForRecord(cp(), name, GPU_TEXT);
    for (const name of ['old', 'new']) {
      const announced = await kubectl(cp(), developer, ['annotate', 'node', name, `${RELEASE}=${GPU_TEXT}`]);
      expect(announced).toMatchObject({ passed: true, error: '' });
    }
  });
  afterAll(() => installation?.stop());

  /** As if the annotation had been written so long ago. */
  async function age(name: string, byMs: number): Promise<void> {
    const { body } = await cp().request<ManagedNode>(admin, 'GET', path(name));
    for (const entry of body.metadata.managedFields) {
      if (JSON.stringify(entry.fieldsV1).includes(RELEASE)) {
        entry.time = new Date(Date.parse(entry.time) - byMs).toISOString().replace(/\.\d+Z$/, 'Z');
      }
    }
    // Of an update that changes times alone, the API server keeps nothing.
    body.metadata.annotations['example.com/aged'] = String(byMs);
    expect((await cp().request(admin, 'PUT', path(name), { body })).status).toBe(200);
  }

  it('is shown by explain, with its end', async () => {
    const { stdout } = await runAs(admin, cp(), ['explain', 'node', 'new']);
    expect(stdout).toMatch(
      /^annotation taintkeeper\.dev\/allow-removal, not used yet: dedicated=gpu:NoSchedule may be removed once; written at \S+Z, the leader removes it at \S+Z$/m,
    );
  });

  it('expires a day after it was written', async () => {
    await age('new', 23 * HOUR_MS);
    // The leader knows the API server's clock to a second, and looks again after minutes.
    await age('old', 24 * HOUR_MS + 60_000);
    await waitForAnnotation(cp(), 'old', RELEASE, undefined);
    expect((await waitForEvent(cp(), 'old', 'RemovalAnnotationExpired')).note).toBe(
      `removed annotation ${RELEASE} (${GPU_TEXT}): it was not used within 24 hours`,
    );
    await waitUntilRestored(cp(), 'old', GPU.key);
    await waitForTaints(cp(), 'old', GPU_TEXT);
  });

  it('lets the taint go until then', async () => {
    expect(await kubectl(cp(), developer, ['taint', 'node', 'new', 'dedicated-'])).toMatchObject({ passed: true });
    await waitForTaints(cp(), 'new');
    await waitForAnnotation(cp(), 'new', RELEASE, undefined);
  });
});
