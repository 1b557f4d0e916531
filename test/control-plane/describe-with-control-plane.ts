import { afterAll, beforeAll, beforeEach, describe } from 'vitest';
import { skipFor } from '../skip-for.ts';
import { findAssets, obstacleTo } from './assets.ts';
import { type ControlPlane, type ControlPlaneOptions, startControlPlane } from './control-plane.ts';
import { obstacleToHelm } from './helm.ts';
import { type Borrowed, borrowControlPlane } from './shared-control-plane.ts';

/** What a group of tests cannot do without. */
export interface Needs extends ControlPlaneOptions {
  /** They run helm. */
  helm?: boolean;
  /** Why they cannot run besides, if so. */
  obstacle?: string | undefined;
}

/**
 * A `describe` with a control plane. Without options it is one that an earlier file of the same worker has given back, empty as a new
 * one; with options one of its own. If a test failed, the components' logs are printed. Without the binaries that it needs it is
 * skipped.
 *
 * @param body gets a function, because the control plane is there only once the tests run
 */
export function describeWithControlPlane(name: string, options: Needs, body: (cp: () => ControlPlane) => void): void {
  describe(name, skipFor(findObstacle(options)), () => {
    let borrowed: Borrowed | undefined;
    let failed = false;
    beforeAll(async () => {
      borrowed = await obtain(options);
    });
    afterAll(async () => {
      if (failed) borrowed?.cp.dumpLogs();
      await borrowed?.giveBack(failed);
    });
    beforeEach(({ onTestFailed }) => {
      onTestFailed(() => {
        failed = true;
      });
    });
    body(() => {
      if (!borrowed) throw new Error('the control plane is there only while tests run');
      return borrowed.cp;
    });
  });
}

async function obtain({ helm, obstacle, ...options }: Needs): Promise<Borrowed> {
  if (Object.keys(options).length === 0) return borrowControlPlane();
  const cp = await startControlPlane(options);
  return { cp, giveBack: () => cp.stop() };
}

function findObstacle({ components = [], helm = false, obstacle }: Needs): string | undefined {
  return obstacle ?? obstacleTo(components, findAssets()) ?? (helm ? obstacleToHelm() : undefined);
}
