import { writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { expect, it, onTestFinished, vi } from 'vitest';
import { absentStatus } from '../cluster/client/absent.ts';
import { answer, kubeconfigText, refusal, startFakeApi } from '../cluster/client/fake-api.ts';
import { temporaryDirectory } from '../temporary-directory.ts';

const fault = () => Promise.reject(new TypeError('no such thing'));

it.each([
  ['cleanup', '../../../src/cleanup/leftovers.ts', 'findLeftovers'],
  ['doctor', '../../../src/doctor/facts/gather.ts', 'gatherFacts'],
])("%s: an error of taintkeeper's own is not reported as bad input", async (command, module, name) => {
  vi.resetModules();
  vi.doMock(module, async (original) => ({ ...(await original<object>()), [name]: fault }));
  onTestFinished(() => {
    vi.doUnmock(module);
    vi.resetModules();
  });
  const { run } = await import('./run-command.ts');
  const api = await startFakeApi(({ path }, response) =>
    answer(response, path.endsWith('/taintkeeper') ? absentStatus(path) : refusal(404, 'NotFound', ''), 404),
  );
  const file = join(temporaryDirectory(), 'kubeconfig');
  writeFileSync(file, kubeconfigText(api.url));
  const { code, stderr } = await run(command, '--kubeconfig', file);
  expect(stderr).toMatch(/^taintkeeper: internal error, please report it: TypeError: no such thing$/m);
  expect(code).toBe(70);
});
