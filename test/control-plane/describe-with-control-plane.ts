import { afterAll, beforeAll, beforeEach, describe } from 'vitest';
import { skipFor } from '../skip-for.ts';
import { findAssets, obstacleTo } from './assets.ts';
import { type ControlPlane, type ControlPlaneOptions, startControlPlane } from './control-plane.ts';
import { obstacleToHelm } from './helm.ts';

/** What a group of tests cannot do without. */
export interface Needs extends ControlPlaneOptions {
  /** They run helm. */
  helm?: boolean;
  /** Why they cannot run besides, if so. */
  obstacle?: string | undefined;
}

/**
 * A `describe` with a control plane of its own, which is started before its tests and stopped after them. If a test
 * failed, the components' logs are printed. Without the binaries that it needs it is skipped.
 *
 * @param body gets a function, because the control plane is there only once the tests run
 */
export function describeWithControlPlane(name: string, options: Needs, body: (cp: () => ControlPlane) => void): void {
  describe(name, skipFor(findObstacle(options)), () => {
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

function findObstacle({ components = [], helm = false, obstacle }: Needs): string | undefined {
  return obstacle ?? obstacleTo(components, findAssets()) ?? (helm ? obstacleToHelm() : undefined);
}
