import { afterAll, beforeAll, beforeEach, describe } from 'vitest';
import { findAssets, obstacleTo } from './assets.ts';
import { type ControlPlane, type ControlPlaneOptions, startControlPlane } from './control-plane.ts';
import { helmPath } from './helm.ts';

/** What a group of tests cannot do without. */
export interface Needs extends ControlPlaneOptions {
  /** They run helm. */
  helm?: boolean;
}

/**
 * A `describe` with a control plane of its own, which is started before its tests and stopped after them. If a test
 * failed, the components' logs are printed. Without the binaries that it needs it is skipped, and its name says so.
 *
 * @param body gets a function, because the control plane is there only once the tests run
 */
export function describeWithControlPlane(name: string, options: Needs, body: (cp: () => ControlPlane) => void): void {
  const obstacle = findObstacle(options);
  describe.skipIf(obstacle !== undefined)(obstacle ? `${name} (skipped: ${obstacle})` : name, () => {
    let cp: ControlPlane | undefined;
    let failed = false;
    beforeAll(async () => {
      cp = await startControlPlane(options);
    });
    afterAll(async () => {
      if (failed) cp?.dumpLogs();
      await cp?.stop();
    });
    beforeEach(({ onTestFailed }) => {
      onTestFailed(() => {
        failed = true;
      });
    });
    body(() => {
      if (!cp) throw new Error('the control plane is there only while tests run');
      return cp;
    });
  });
}

function findObstacle({ components = [], helm = false }: Needs): string | undefined {
  const assets = findAssets();
  if (!assets) return 'no control plane; run `npx node test/control-plane/build.ts`';
  if (helm && !helmPath()) return 'no helm; run `npx node test/control-plane/build.ts`';
  return obstacleTo(components, assets);
}
