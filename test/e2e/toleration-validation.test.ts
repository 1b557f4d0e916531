import { expect, it } from 'vitest';
import type { Toleration } from '../../src/kubernetes/toleration.ts';
import { tolerationFaults } from '../../src/kubernetes/toleration-faults.ts';
import { describeWithControlPlane } from '../control-plane/describe-with-control-plane.ts';
import { admin } from '../control-plane/users.ts';

const AT_ONCE = 16;
const TIMEOUT_MS = 120_000;

const TOLERATIONS: Toleration[] = [undefined, '', 'dedicated', 'example.com/a', 'a b'].flatMap((key) =>
  [undefined, 'Equal', 'Exists', 'exists', 'Gt', 'Lt'].flatMap((operator) =>
    [undefined, 'v', 'b c', '7', '-7', '07', '9223372036854775808'].flatMap((value) =>
      [undefined, '', 'NoSchedule', 'NO_SCHEDULE', 'NoExecute'].flatMap((effect) =>
        [undefined, 0].map((tolerationSeconds) => ({ key, operator, value, effect, tolerationSeconds })),
      ),
    ),
  ),
);

describeWithControlPlane('the API server', {}, (cp) => {
  /** Whether it refuses a DaemonSet with this toleration, which is not created. */
  async function isRefused(toleration: Toleration): Promise<boolean> {
    const labels = { app: 'a' };
    const body = {
      apiVersion: 'apps/v1',
      kind: 'DaemonSet',
      metadata: { name: 'tolerating' },
      spec: {
        selector: { matchLabels: labels },
        template: {
          metadata: { labels },
          spec: { containers: [{ name: 'c', image: 'i' }], tolerations: [toleration] },
        },
      },
    };
    const { status } = await cp().request(admin, 'POST', '/apis/apps/v1/namespaces/default/daemonsets?dryRun=All', {
      body,
    });
    expect([201, 422]).toContain(status);
    return status === 422;
  }

  it('refuses exactly the tolerations that have faults', { timeout: TIMEOUT_MS }, async () => {
    // With the feature gate off, it refuses every Gt and Lt, also those without another fault.
    const compared = TOLERATIONS.filter(
      (each) => !['Gt', 'Lt'].includes(each.operator ?? '') || tolerationFaults(each).length > 0,
    );
    const wrong: unknown[] = [];
    let refused = 0;
    const waiting = compared.values();
    const work = async () => {
      for (const toleration of waiting) {
        const isInvalid = await isRefused(toleration);
        if (isInvalid) refused += 1;
        if (isInvalid !== tolerationFaults(toleration).length > 0) wrong.push({ toleration, isInvalid });
      }
    };
    await Promise.all(Array.from({ length: AT_ONCE }, work));
    expect(wrong).toEqual([]);
    expect(refused).toBeGreaterThan(0);
    expect(refused).toBeLessThan(compared.length);
  });
});
