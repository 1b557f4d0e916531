import { execFile } from 'node:child_process';
import { join } from 'node:path';
import { promisify } from 'node:util';
import { describe, expect, it } from 'vitest';
import { skipFor } from '../skip-for.ts';
import { obstacleToRealNode } from './obstacle.ts';

const DEMO = join(import.meta.dirname, '..', '..', 'demo', 'demo.ts');
const TIMEOUT_MS = 300_000;

describe('npm run demo -- --real', skipFor(obstacleToRealNode()), () => {
  it(
    'plays to its end, as told',
    async () => {
      const { stdout } = await promisify(execFile)(process.execPath, [DEMO, '--real']);
      const [, install, deny, cni, requests, restore, uninstall] = stdout.split(/^\d\. /m);
      expect(install).toContain('all policies in force');
      expect(deny).toContain('node n1: removing taint node-role.kubernetes.io/control-plane:NoSchedule');
      expect(cni).toMatch(/n1 +Running\n.* n2 +Running/);
      expect(requests?.match(/0 failed and 0 passed without it/g)).toHaveLength(2);
      expect(requests).toContain('node/n2 drained');
      expect(restore).toMatch(/untainted[\s\S]*It is back[\s\S]*dedicated/);
      expect(uninstall).toContain('node/n1 untainted');
      expect(uninstall).toContain('Stopping everything');
    },
    TIMEOUT_MS,
  );
});
