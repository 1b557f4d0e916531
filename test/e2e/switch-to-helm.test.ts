import { gunzipSync, gzipSync } from 'node:zlib';
import { beforeAll, expect, it } from 'vitest';
import { CHART, INSTALL, NAMESPACE } from '../../scripts/chart.ts';
import { MERGE_PATCH } from '../control-plane/content-types.ts';
import type { ControlPlane } from '../control-plane/control-plane.ts';
import { describeWithControlPlane } from '../control-plane/describe-with-control-plane.ts';
import { runHelm } from '../control-plane/helm.ts';
import { succeeded } from '../control-plane/rest.ts';
import { admin } from '../control-plane/users.ts';
import { allPages, shellCommandsOf } from '../unit/docs/pages.ts';
import { guideCommands, guideLines } from './guide-commands.ts';
import type { Deployment } from './kubernetes-objects.ts';

/** Values of three fields that `kubectl apply` has set. */
const IMAGE_TAG = 'image.tag=v9';
const REPLICAS = 'replicas=3';
const AUDIT = 'audit=true';

const APPLY = 'kubectl apply -f manifests/install.yaml';
const CONFLICT = expect.stringContaining('conflict with "kubectl-client-side-apply"');
const [HAND_OVER = '', TAKE_OVER = ''] = guideCommands('upgrading.md', 'From install.yaml to Helm').map(
  ({ command }) => command,
);

const [INSTALLED_AGAIN = ''] = allPages()
  .flatMap((page) => (page.path === 'docs/troubleshooting.md' ? shellCommandsOf(page) : []))
  .filter((command) => command.startsWith('helm get manifest'));

async function helm(cp: ControlPlane, args: readonly string[]) {
  return runHelm(args, { kubeconfigFile: await cp.kubeconfigFile(admin) });
}

/** A command of the guide, with the paths of this checkout. */
async function guided(cp: ControlPlane, command: string): Promise<void> {
  const [program, ...args] = command
    .replace('manifests/chart', CHART)
    .replace('manifests/install.yaml', INSTALL)
    .split(' ');
  const { code, stderr } = program === 'helm' ? await helm(cp, args) : await cp.kubectl(args);
  expect({ command, code, stderr: code === 0 ? '' : stderr }).toEqual({ command, code: 0, stderr: '' });
}

const upgrade = (cp: ControlPlane, change: string, ...more: readonly string[]) =>
  helm(cp, [
    ...['upgrade', 'taintkeeper', CHART, '--namespace', NAMESPACE, '--reset-then-reuse-values'],
    ...['--set', change, ...more],
  ]);

async function deployment(cp: ControlPlane): Promise<Deployment> {
  const path = `/apis/apps/v1/namespaces/${NAMESPACE}/deployments/taintkeeper`;
  return (await cp.request<Deployment>(admin, 'GET', path)).body;
}

async function args(cp: ControlPlane): Promise<readonly string[] | undefined> {
  return (await deployment(cp)).spec.template.spec.containers[0]?.args;
}

async function managers(cp: ControlPlane): Promise<string[]> {
  const { metadata } = await deployment(cp);
  const { managedFields } = metadata as { managedFields?: readonly { manager: string }[] };
  return (managedFields ?? []).map(({ manager }) => manager).sort();
}

describeWithControlPlane('from install.yaml to Helm, as the guide says', { helm: true }, (cp) => {
  beforeAll(async () => {
    for (const command of [APPLY, HAND_OVER, TAKE_OVER]) await guided(cp(), command);
  });

  it('later upgrades change what kubectl had set', async () => {
    expect(await managers(cp())).toEqual(['helm']);
    for (const change of [IMAGE_TAG, REPLICAS, AUDIT]) {
      expect(await upgrade(cp(), change)).toMatchObject({ code: 0 });
    }
  });

  it('the command for an emergency sets --audit', async () => {
    expect(await upgrade(cp(), 'audit=false')).toMatchObject({ code: 0 });
    await guided(cp(), guideLines('on-call.md', 'Stop the leader', 1)[0] ?? '');
    expect(await args(cp())).toContain('--audit');
  });

  it('an argument that kubectl has added is removed with --force-conflicts', async () => {
    expect(await upgrade(cp(), 'audit=false')).toMatchObject({ code: 0 });
    const patch = JSON.stringify([{ op: 'add', path: '/spec/template/spec/containers/0/args/-', value: '--audit' }]);
    await cp().kubectl(['-n', NAMESPACE, 'patch', 'deployment', 'taintkeeper', '--type=json', '-p', patch]);
    expect(await args(cp())).toContain('--audit');
    expect(await upgrade(cp(), 'audit=false')).toMatchObject({
      code: 1,
      stderr: expect.stringContaining('conflict with "kubectl-patch"'),
    });
    expect(await upgrade(cp(), 'audit=false', '--force-conflicts')).toMatchObject({ code: 0 });
    expect(await args(cp())).not.toContain('--audit');
  });

  it('the installed version is applied again', async () => {
    const [get = '', apply = ''] = INSTALLED_AGAIN.split(' | ');
    const { code, stdout } = await helm(cp(), get.split(' ').slice(1));
    expect(code).toBe(0);
    await cp().kubectl(['delete', 'clusterrole', 'taintkeeper']);
    await cp().kubectl(['-n', NAMESPACE, 'scale', 'deployment', 'taintkeeper', '--replicas=0']);
    const applied = await cp().kubectl(apply.split(' ').slice(1), { input: stdout });
    expect(applied.stdout).toContain('clusterrole.rbac.authorization.k8s.io/taintkeeper created');
    expect(await upgrade(cp(), 'replicas=4')).toMatchObject({ code: 1, stderr: CONFLICT });
    expect(await upgrade(cp(), 'replicas=4', '--force-conflicts')).toMatchObject({ code: 0 });
  });
});

describeWithControlPlane('an upgrade that was interrupted', { helm: true }, (cp) => {
  it('is refused again, until the commands of docs/upgrading.md roll back', async () => {
    const installed = ['install', 'taintkeeper', CHART, '--namespace', NAMESPACE, '--create-namespace'];
    expect(await helm(cp(), [...installed, '--set', 'image.repository=any'])).toMatchObject({ code: 0 });
    expect(await upgrade(cp(), IMAGE_TAG)).toMatchObject({ code: 0 });
    await interruptRelease(cp(), 2);
    expect(await upgrade(cp(), REPLICAS)).toMatchObject({
      code: 1,
      stderr: expect.stringContaining('another operation (install/upgrade/rollback) is in progress'),
    });
    const [history = '', rollback = ''] = guideLines('upgrading.md', 'An upgrade hangs');
    const { stdout } = await helm(cp(), history.split(' ').slice(1));
    expect(stdout).toMatch(/^1\s.*superseded.*\n2\s.*pending-upgrade/m);
    await guided(cp(), rollback.replace('REVISION', '1'));
    expect((await deployment(cp())).spec.template.spec.containers[0]?.image).not.toMatch(/:v9$/);
    expect(await upgrade(cp(), REPLICAS)).toMatchObject({ code: 0 });
  });
});

/** Helm keeps a release in a Secret, packed: leaves it as a helm does that was killed during the upgrade. */
async function interruptRelease(cp: ControlPlane, revision: number): Promise<void> {
  const url = `/api/v1/namespaces/${NAMESPACE}/secrets/sh.helm.release.v1.taintkeeper.v${revision}`;
  const { body } = await cp.request<{ data: { release: string } }>(admin, 'GET', url);
  const packed = Buffer.from(Buffer.from(body.data.release, 'base64').toString(), 'base64');
  const release = JSON.parse(gunzipSync(packed).toString());
  release.info.status = 'pending-upgrade';
  const again = Buffer.from(gzipSync(JSON.stringify(release)).toString('base64')).toString('base64');
  await succeeded(
    cp.request(admin, 'PATCH', url, {
      body: { metadata: { labels: { status: 'pending-upgrade' } }, data: { release: again } },
      contentType: MERGE_PATCH,
    }),
  );
}

describeWithControlPlane('from install.yaml to Helm, without handing the fields over', { helm: true }, (cp) => {
  beforeAll(async () => {
    for (const command of [APPLY, TAKE_OVER]) await guided(cp(), command);
  });

  it('both own the fields of the Deployment', async () => {
    expect(await managers(cp())).toEqual(['helm', 'kubectl-client-side-apply']);
  });

  it.each([IMAGE_TAG, REPLICAS, AUDIT])('the first upgrade to %s needs --force-conflicts', async (change) => {
    expect(await upgrade(cp(), change)).toMatchObject({ code: 1, stderr: CONFLICT });
    expect(await upgrade(cp(), change, '--force-conflicts')).toMatchObject({ code: 0 });
  });

  it('a later upgrade that changes such a field again does not need it', async () => {
    expect(await upgrade(cp(), REPLICAS, '--force-conflicts')).toMatchObject({ code: 0 });
    expect(await upgrade(cp(), 'replicas=2')).toMatchObject({ code: 0 });
  });
});
