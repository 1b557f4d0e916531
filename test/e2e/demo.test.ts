import { execFile } from 'node:child_process';
import { join } from 'node:path';
import { promisify } from 'node:util';
import { describe, expect, it } from 'vitest';
import { findAssets, obstacleTo } from '../control-plane/assets.ts';
import { readmeBlocks } from '../readme.ts';
import { skipFor } from '../skip-for.ts';

const DEMO = join(import.meta.dirname, '..', '..', 'demo', 'demo.ts');

describe('npm run demo', skipFor(obstacleTo([], findAssets())), () => {
  it('plays to its end, and prints what the README says', async () => {
    const { stdout } = await promisify(execFile)(process.execPath, [DEMO]);
    expect(stdout).toContain('Stopping everything');
    const [excerpt = ''] = readmeBlocks('3. Restore');
    const lines = excerpt.split('\n').filter((line) => line !== '');
    expect(lines.length).toBe(4);
    for (const line of lines) expect(stdout.split('\n')).toContain(line);
  });
});
