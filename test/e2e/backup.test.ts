import { writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { afterAll, beforeAll, expect, it } from 'vitest';
import { describeWithControlPlane } from '../control-plane/describe-with-control-plane.ts';
import { runTool } from '../control-plane/run-tool.ts';
import { admin } from '../control-plane/users.ts';
import { waitUntil } from '../control-plane/wait-until.ts';
import { temporaryDirectory } from '../unit/temporary-directory.ts';
import { guideCommands } from './guide-commands.ts';
import { type Installation, install } from './installation.ts';
import { policyObject } from './policy-objects.ts';
import { createPolicy, POLICIES_PATH } from './policy-resources.ts';
import { runOffline } from './run-taintkeeper.ts';

const DEFAULT = `${POLICIES_PATH.TaintPolicy}/control-plane-taints`;
const OWN_SPEC = {
  mode: 'Restore',
  taints: [{ key: 'dedicated' }],
  exempt: { users: ['autoscaler'] },
};
/** The defaults as an operator has changed them. */
const CHANGES: Readonly<Record<string, object>> = {
  [DEFAULT]: {
    mode: 'Deny',
    taints: [{ key: 'node-role.kubernetes.io/control-plane' }],
    failurePolicy: 'Ignore',
  },
  [`${POLICIES_PATH.TolerationPolicy}/cni-tolerations`]: {
    mode: 'Mutate',
    daemonSets: { namespaces: ['kube-system', 'my-cni'] },
  },
};
const TIMEOUT_MS = 30_000;

interface Policy {
  readonly metadata: { readonly uid: string };
  readonly spec: object;
}

describeWithControlPlane("the guide's backup", {}, (cp) => {
  let installation: Installation;
  let saved = '';
  /** By path, with what the API server adds. */
  const changed = new Map<string, object>();

  const read = async (path: string) => (await cp().request<Policy>(admin, 'GET', path)).body;
  const untilThere = (path: string) =>
    waitUntil(async () => (await read(path)).metadata?.uid, { timeoutMs: TIMEOUT_MS, otherwise: () => `no ${path}` });

  async function change(path: string, spec: object): Promise<object> {
    const { status, body } = await cp().request<Policy>(admin, 'PUT', path, { body: { ...(await read(path)), spec } });
    expect(status).toBe(200);
    return body.spec;
  }
  async function expectRestored() {
    for (const [path, spec] of changed) expect((await read(path)).spec).toEqual(spec);
    expect((await read(`${POLICIES_PATH.TaintPolicy}/own`)).spec).toMatchObject(OWN_SPEC);
  }

  /** The very command of the guide, in a folder with the backup. */
  async function restore(text: string) {
    const folder = temporaryDirectory();
    writeFileSync(join(folder, 'policies.yaml'), text);
    const [command] = guideCommands('uninstall.md', 'Backup', 1).map((one) => one.command.split(' | kubectl '));
    const [shell = '', kubectl = ''] = command ?? [];
    const input = (await runTool('sh', ['-c', `cd ${folder} && ${shell}`], { env: process.env })).stdout;
    const { code, stderr } = await cp().kubectl(kubectl.split(' '), { input });
    expect({ code, stderr: stderr.replaceAll(/^Warning: .*\n/gm, '') }).toEqual({ code: 0, stderr: '' });
  }

  beforeAll(async () => {
    installation = await install(cp());
    await installation.start(['a']);
    await untilThere(DEFAULT);
    expect((await createPolicy(cp(), policyObject('TaintPolicy', 'own', OWN_SPEC))).status).toBe(201);
    for (const [path, spec] of Object.entries(CHANGES)) {
      await untilThere(path);
      changed.set(path, await change(path, spec));
    }
    const [{ command } = { command: '' }] = guideCommands('uninstall.md', 'Backup');
    const [get = '', ...rest] = command.split(' > ');
    expect(rest).toEqual(['policies.yaml']);
    saved = (await cp().kubectl(get.split(' ').slice(1))).stdout;
  });
  afterAll(() => installation?.stop());

  it('is read by taintkeeper as it is', async () => {
    const file = join(temporaryDirectory(), 'policies.yaml');
    writeFileSync(file, saved);
    const { code, stdout, stderr } = await runOffline(['export', '--policies', file]);
    expect(code, stderr).toBe(0);
    expect(stdout).toContain('name: own.protect.taintkeeper.dev');
  });

  it('comes back into the installation that it was taken from, changed meanwhile', async () => {
    await change(DEFAULT, { mode: 'Restore', taints: [{ key: 'other' }] });
    await cp().request(admin, 'DELETE', `${POLICIES_PATH.TaintPolicy}/own`);
    await restore(saved);
    await expectRestored();
  });

  it('is restored after the CRDs were deleted and the leader created the default policies again', async () => {
    await installation.replica('a').stop();
    await installation.stop();
    const before = await read(DEFAULT);
    for (const resource of ['taintpolicies', 'tolerationpolicies', 'tolerationrestrictions', 'recoverypolicies']) {
      const gone = await cp().kubectl(['delete', 'crd', `${resource}.taintkeeper.dev`]);
      expect(gone.code, gone.stderr).toBe(0);
    }
    await cp().kubectl(['-n', 'taintkeeper', 'delete', 'configmap', 'taintkeeper-default-policies']);
    installation = await install(cp());
    await installation.start(['b']);
    expect(await untilThere(DEFAULT)).not.toBe(before.metadata.uid);
    for (const [path, spec] of changed) {
      await untilThere(path);
      expect((await read(path)).spec).not.toEqual(spec);
    }
    await restore(saved);
    await expectRestored();
  });
});
