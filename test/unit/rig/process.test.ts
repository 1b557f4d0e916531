import { rmSync } from 'node:fs';
import { join } from 'node:path';
import { expect, it } from 'vitest';
import { launch } from '../../control-plane/process.ts';
import { waitUntil } from '../../control-plane/wait-until.ts';
import { temporaryDirectory } from '../temporary-directory.ts';

it('a process whose log has been removed ends like any other, and its output is still known', async () => {
  const logFile = join(temporaryDirectory(), 'sleeper.log');
  const sleeper = await launch('sleeper', 'sh', ['-c', 'echo started; exec sleep 60'], { logFile });
  await waitUntil(() => sleeper.log().includes('started') || undefined, {
    timeoutMs: 10_000,
    otherwise: () => 'it has not started',
  });
  rmSync(logFile);

  expect(await sleeper.kill()).toEqual({ code: null, signal: 'SIGKILL' });
  expect(await sleeper.ended).toEqual({ code: null, signal: 'SIGKILL' });
  expect(sleeper.log()).toBe('started\n');
});
