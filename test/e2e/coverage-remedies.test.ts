import { mkdirSync } from 'node:fs';
import { join } from 'node:path';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { describeWithControlPlane } from '../control-plane/describe-with-control-plane.ts';
import { admin } from '../control-plane/users.ts';
import { createWorkspace, type Workspace } from '../control-plane/workspace.ts';
import { manifest } from '../unit/policy/policies.ts';
import { readCoverage, runCoverage } from './coverage-command.ts';
import { createDaemonSet, daemonSetManifest, getDaemonSet } from './daemon-sets.ts';
import { pasteRemedy } from './paste-remedy.ts';

const NEW = { key: 'node-role.kubernetes.io/control-plane', effect: 'NoSchedule' };
const OLD = { key: 'node-role.kubernetes.io/master', effect: 'NoSchedule' };
const GPU = { key: 'dedicated', operator: 'Exists', effect: 'NoSchedule' };
/** Policies that hold the old taint, whoever removes it. */
const NEVER = {
  'never-by-name': { mode: 'Deny', taints: [{ key: OLD.key, effect: 'NoSchedule' }] },
  'never-by-pattern': { mode: 'Restore', taints: [{ key: 'node-role.kubernetes.io/*' }] },
};
const MANIFESTS = join(import.meta.dirname, '..', '..', 'manifests', 'chart', 'files', 'crds');

describeWithControlPlane('what coverage tells people to do', {}, (cp) => {
  let workspace: Workspace;
  beforeAll(async () => {
    workspace = createWorkspace('remedies');
    for (const [name, taints] of Object.entries({ c: [NEW], m: [OLD] })) {
      const labels = { [taints[0]?.key ?? '']: '' };
      const created = await cp().request(admin, 'POST', '/api/v1/nodes', {
        body: { metadata: { name, labels }, spec: { taints } },
      });
      expect(created.status).toBe(201);
    }
  });
  afterAll(() => workspace.remove());

  const apply = async (...args: readonly string[]) => {
    const { code, stderr } = await cp().kubectl(['apply', '-f', ...args]);
    expect(code, stderr).toBe(0);
  };
  const createNamespace = (name: string) =>
    cp().request(admin, 'POST', '/api/v1/namespaces', { body: { metadata: { name } } });
  const tolerationsOf = async (namespace: string, name: string) =>
    (await getDaemonSet(cp(), namespace, name)).spec.template.spec.tolerations;

  it('--as patch: the commands close the gaps, and take nothing away', async () => {
    await createNamespace('patched');
    await createDaemonSet(cp(), daemonSetManifest('patched', 'bare', {}));
    await createDaemonSet(cp(), daemonSetManifest('patched', 'gpu', { tolerations: [GPU] }));
    const { stdout } = await runCoverage(cp(), 'fix', '-n', 'patched', '--as', 'patch');
    const commands = stdout.split('\n').filter((line) => line.startsWith('kubectl '));
    expect(commands).toHaveLength(2);
    for (const command of commands) await pasteRemedy(cp(), command);

    expect((await readCoverage(cp(), '-n', 'patched')).gaps.filter(({ passing }) => !passing)).toEqual([]);
    expect(await tolerationsOf('patched', 'gpu')).toEqual([
      GPU,
      { ...NEW, operator: 'Exists' },
      { ...OLD, operator: 'Exists' },
    ]);
    // The list that was to be made is there by now: the same command must not put another one in its place.
    const [making = ''] = commands.filter((command) => command.includes('"test"'));
    await expect(pasteRemedy(cp(), making)).rejects.toThrow(/The request is invalid/);
  });

  it('--as kustomize: the component gives the manifests what they need', async () => {
    const manifest = daemonSetManifest('built', 'a.b', { tolerations: [GPU] });
    await createNamespace('built');
    await createDaemonSet(cp(), manifest);
    const { stdout } = await runCoverage(cp(), 'fix', '-n', 'built', '--as', 'kustomize');
    mkdirSync(workspace.path('tolerations'));
    workspace.write('tolerations/kustomization.yaml', stdout);
    workspace.write('base.yaml', JSON.stringify({ ...manifest, metadata: { name: 'a.b' } }));
    const kustomization = { resources: ['base.yaml'], components: ['tolerations'], namespace: 'built' };
    const path = workspace.write('kustomization.yaml', JSON.stringify(kustomization));
    const { code, stderr } = await cp().kubectl(['apply', '-k', join(path, '..')]);
    expect(code, stderr).toBe(0);
    expect(await tolerationsOf('built', 'a.b')).toEqual([
      GPU,
      { ...NEW, operator: 'Exists' },
      { ...OLD, operator: 'Exists' },
    ]);
  });

  describe('migrate', () => {
    beforeAll(async () => {
      await apply(MANIFESTS);
      const crds = ['taintpolicies', 'tolerationpolicies', 'tolerationrestrictions'];
      const names = crds.map((crd) => `crd/${crd}.taintkeeper.dev`);
      expect(await cp().kubectl(['wait', '--for=condition=Established', ...names])).toMatchObject({ code: 0 });
    });

    it('is done with the policies of coverage fix, and with those that release nothing, by commands alone', async () => {
      await createNamespace('migrated');
      const tolerations = [{ ...NEW, operator: 'Exists' }];
      await createDaemonSet(cp(), daemonSetManifest('migrated', 'agent', { tolerations }));
      await apply(workspace.write('fix.yaml', (await runCoverage(cp(), 'fix', '-n', 'migrated')).stdout));
      for (const [name, spec] of Object.entries(NEVER)) {
        const policy = manifest('TaintPolicy', name, { ...spec, removalByAnnotation: 'Forbidden' });
        await apply(workspace.write(`${name}.json`, JSON.stringify(policy)));
      }

      const { stdout } = await runCoverage(cp(), 'migrate', '-o', 'json');
      const { steps } = JSON.parse(stdout) as { steps: { commands: string[]; byHand: string[] }[] };
      expect(steps.flatMap(({ byHand }) => byHand)).toEqual([]);
      expect(steps[3]?.commands).toHaveLength(3);
      for (const command of steps.flatMap(({ commands }) => commands)) await pasteRemedy(cp(), command);
      expect((await runCoverage(cp(), 'migrate')).stdout).toMatch(/^No step is left\.$/m);
    });
  });
});
