import { readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { afterEach, describe, expect, it, vi } from 'vitest';
import { INSTALL, renderChart } from '../../scripts/chart.ts';
import { lockedVersion } from '../control-plane/go-modules.ts';
import { HELM, helmPath, obstacleToHelm, runHelm } from '../control-plane/helm.ts';
import { skipFor } from '../skip-for.ts';
import { temporaryDirectory } from '../unit/temporary-directory.ts';

const given = process.env.KUBEBUILDER_ASSETS || undefined;

afterEach(() => vi.unstubAllEnvs());

describe('helm', skipFor(obstacleToHelm()), () => {
  it('is the version that go.mod locks', skipFor(given && 'KUBEBUILDER_ASSETS may have any helm'), async () => {
    const { code, stdout } = await runHelm(['version', '--template', '{{.Version}}']);
    expect({ code, stdout }).toEqual({ code: 0, stdout: lockedVersion(HELM, 'helm') });
  });

  it("does not see the user's settings", async () => {
    vi.stubEnv('HELM_NAMESPACE', 'of-the-user');
    vi.stubEnv('KUBECONFIG', '/of/the/user');
    const { stdout } = await runHelm(['env']);
    expect(stdout).toContain('HELM_NAMESPACE="default"');
    expect(stdout).not.toContain('of-the-user');
  });

  it('returns a failure as a result', async () => {
    const { code, stderr } = await runHelm(['template', 'x', '/no/such/chart']);
    expect(code).toBe(1);
    expect(stderr).toContain('/no/such/chart');
  });

  it('renders, with the values of the install guide for a trial, install.yaml with --audit', async () => {
    const guide = readFileSync(join(import.meta.dirname, '..', '..', 'docs', 'install.md'), 'utf8');
    const [, values = ''] = /`--values (\S*audit\S*)`/.exec(guide) ?? [];
    const rendered = await renderChart(['--skip-tests', '--set', 'namespace.create=true', '--values', values]);
    const withoutMarks = rendered
      .replaceAll(/^ *(helm\.sh\/chart|app\.kubernetes\.io\/managed-by): .*\n/gm, '')
      .replaceAll(/^ *annotations:\n *helm\.sh\/resource-policy: keep\n/gm, '');
    const [notice = ''] = readFileSync(INSTALL, 'utf8').split('---\n');
    expect(notice + withoutMarks.replace(/^ *- --audit\n/m, '')).toBe(readFileSync(INSTALL, 'utf8'));
    expect(withoutMarks).toMatch(/^ *- --audit$/m);
  });
});

it('helm of KUBEBUILDER_ASSETS comes first', () => {
  const folder = temporaryDirectory();
  vi.stubEnv('KUBEBUILDER_ASSETS', folder);
  expect(helmPath()).not.toBe(join(folder, 'helm'));
  writeFileSync(join(folder, 'helm'), '', { flag: 'wx' });
  expect(helmPath()).toBe(join(folder, 'helm'));
});
