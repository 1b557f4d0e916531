import { existsSync, readFileSync } from 'node:fs';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import type { Toleration } from '../../src/kubernetes/toleration.ts';
import { JSON_PATCH, MERGE_PATCH } from '../control-plane/content-types.ts';
import { describeWithControlPlane } from '../control-plane/describe-with-control-plane.ts';
import { startTaintkeeper, type Taintkeeper } from '../control-plane/taintkeeper.ts';
import { admin, developer } from '../control-plane/users.ts';
import { MUTATING_WEBHOOK, registerWebhook, VALIDATING_WEBHOOK } from '../control-plane/webhook.ts';
import { skipFor } from '../skip-for.ts';
import { CONTROL_PLANE, FLANNEL_AFTER_PR_1907, MASTER } from '../unit/judge/request/daemon-set-cases.ts';
import { type DaemonSet, daemonSetManifest, daemonSetPath, getDaemonSet } from './daemon-sets.ts';
import { kubectl } from './nodes.ts';

const POLICIES = `
apiVersion: taintkeeper.dev/v1alpha1
kind: TolerationPolicy
metadata: { name: cni }
spec:
  mode: Mutate
  daemonSets: { namespaces: [kube-flannel, kube-system] }
---
apiVersion: taintkeeper.dev/v1alpha1
kind: TolerationPolicy
metadata: { name: watched }
spec:
  mode: Audit
  daemonSets: { namespaces: [watched] }
`;

const manifest = (
  name: string,
  namespace: string,
  tolerations: readonly Toleration[],
  annotations: Record<string, string> = {},
) => daemonSetManifest(namespace, name, tolerations.length > 0 ? { tolerations } : {}, annotations);

// Which tolerations are added is in daemon-set-cases.ts, which match-conditions.test.ts has an API server try.
describeWithControlPlane('DaemonSet tolerations', {}, (cp) => {
  let taintkeeper: Taintkeeper;
  let count = 0;

  beforeAll(async () => {
    taintkeeper = await startTaintkeeper({ policies: POLICIES });
    await registerWebhook(cp(), taintkeeper);
    for (const name of ['kube-flannel', 'watched']) await kubectl(cp(), admin, ['create', 'namespace', name]);
  });
  afterAll(() => taintkeeper?.stop());

  const get = (namespace: string, name: string) => getDaemonSet(cp(), namespace, name);
  const tolerationsOf = async (namespace: string, name: string) =>
    (await get(namespace, name)).spec.template.spec.tolerations ?? [];
  const apply = (object: object) => kubectl(cp(), developer, ['apply', '-f', '-'], JSON.stringify(object));
  const newName = () => `cni-${++count}`;

  describe('on creation', () => {
    it.each<{ why: string; tolerations: readonly Toleration[]; added: readonly Toleration[] }>([
      { why: 'Flannel after PR #1907: exactly one is added', tolerations: FLANNEL_AFTER_PR_1907, added: [MASTER] },
      { why: 'no toleration, and no list of them', tolerations: [], added: [MASTER, CONTROL_PLANE] },
    ])('$why', async ({ tolerations, added }) => {
      const name = newName();
      const { passed, error, warnings } = await apply(manifest(name, 'kube-flannel', tolerations));
      expect(passed, error).toBe(true);
      expect(warnings).toEqual(added.map(({ key }) => `TolerationPolicy cni added toleration ${key}:NoSchedule`));
      expect(await tolerationsOf('kube-flannel', name)).toEqual([...tolerations, ...added]);
    });

    it('Audit only reports: a warning, an audit annotation, a metric', async () => {
      const body = manifest(newName(), 'watched', [MASTER]);
      const answer = await cp().request<DaemonSet>(developer, 'POST', daemonSetPath('watched'), { body });
      expect(answer).toMatchObject({
        status: 201,
        warnings: [
          'TolerationPolicy watched, Audit: toleration node-role.kubernetes.io/control-plane:NoSchedule is missing',
        ],
        body: { spec: { template: { spec: { tolerations: [MASTER] } } } },
      });
      expect((await cp().auditEvent(answer)).annotations).toMatchObject({
        [`${VALIDATING_WEBHOOK}/audited`]: 'watched: node-role.kubernetes.io/control-plane:NoSchedule',
      });
      expect(await taintkeeper.metrics()).toMatch(
        /^taintkeeper_decisions_total\{kind="DaemonSet",policy="watched",mode="Audit",change="Missing",result="Audited",audit="false"\} 1$/m,
      );
    });

    it("the API server's audit log says what was added", async () => {
      const answer = await cp().request(developer, 'POST', daemonSetPath('kube-system'), {
        body: manifest(newName(), 'kube-system', [MASTER]),
      });
      expect((await cp().auditEvent(answer)).annotations).toMatchObject({
        [`${MUTATING_WEBHOOK}/added`]: 'cni: node-role.kubernetes.io/control-plane:NoSchedule',
      });
    });

    it('--dry-run=server shows the result and creates nothing', async () => {
      const name = newName();
      const { stdout } = await cp().kubectl(['create', '--dry-run=server', '-o', 'json', '-f', '-'], {
        user: developer,
        input: JSON.stringify(manifest(name, 'kube-flannel', [MASTER])),
      });
      expect((JSON.parse(stdout) as DaemonSet).spec.template.spec.tolerations).toEqual([MASTER, CONTROL_PLANE]);
      expect((await cp().request(admin, 'GET', daemonSetPath('kube-flannel', name))).status).toBe(404);
    });
  });

  describe('on update', () => {
    async function created(tolerations = FLANNEL_AFTER_PR_1907): Promise<string> {
      const name = newName();
      await apply(manifest(name, 'kube-flannel', tolerations));
      return name;
    }

    it('applying the same manifest again, with another label, rolls nothing', async () => {
      const name = await created();
      const { generation } = (await get('kube-flannel', name)).metadata;
      const again = manifest(name, 'kube-flannel', FLANNEL_AFTER_PR_1907);
      await apply({ ...again, metadata: { ...again.metadata, labels: { allowRemoval: 'v2' } } });
      expect((await get('kube-flannel', name)).metadata.generation).toBe(generation);
      expect(await tolerationsOf('kube-flannel', name)).toEqual([...FLANNEL_AFTER_PR_1907, MASTER]);
    });

    it('a patch that removes a required toleration stores the rest of the patch, and restarts no pod', async () => {
      const name = await created();
      const { generation } = (await get('kube-flannel', name)).metadata;
      const answer = await cp().request<DaemonSet>(developer, 'PATCH', daemonSetPath('kube-flannel', name), {
        body: [
          { op: 'add', path: '/metadata/annotations/example.com~1patched', value: 'true' },
          { op: 'remove', path: `/spec/template/spec/tolerations/${FLANNEL_AFTER_PR_1907.length}` },
        ],
        contentType: JSON_PATCH,
      });
      expect(answer).toMatchObject({
        status: 200,
        warnings: [`TolerationPolicy cni added toleration ${MASTER.key}:NoSchedule`],
      });
      const stored = await get('kube-flannel', name);
      expect(stored.metadata).toMatchObject({ generation, annotations: { 'example.com/patched': 'true' } });
      expect(stored.spec.template.spec.tolerations).toEqual([...FLANNEL_AFTER_PR_1907, MASTER]);
    });

    it('a DaemonSet from before taintkeeper is not restarted by a label, and gets the toleration with its next image', async () => {
      const name = newName();
      await apply(manifest(name, 'kube-flannel', [MASTER], { 'taintkeeper.dev/ignore': 'true' }));
      const { generation } = (await get('kube-flannel', name)).metadata;

      const optIn = await kubectl(cp(), developer, [
        'annotate',
        '-n',
        'kube-flannel',
        'daemonset',
        name,
        'taintkeeper.dev/ignore-',
      ]);
      expect(optIn.warnings).toEqual([
        expect.stringContaining('toleration node-role.kubernetes.io/control-plane:NoSchedule is missing'),
      ]);
      expect((await get('kube-flannel', name)).metadata.generation).toBe(generation);

      await kubectl(cp(), developer, [
        'set',
        'image',
        '-n',
        'kube-flannel',
        `daemonset/${name}`,
        'main=example.com/main:2',
      ]);
      expect(await tolerationsOf('kube-flannel', name)).toEqual([MASTER, CONTROL_PLANE]);
    });

    it('status updates pass in silence', async () => {
      const name = await created([MASTER]);
      const answer = await cp().request(developer, 'PATCH', `${daemonSetPath('kube-flannel', name)}/status`, {
        body: { status: { numberReady: 1 } },
        contentType: MERGE_PATCH,
      });
      expect(answer).toMatchObject({ status: 200, warnings: [] });
    });
  });

  const fixtures = new URL('../../../shared/fixtures/daemonsets/', import.meta.url);
  const obstacle = existsSync(fixtures) ? undefined : 'there are no fixtures in ../shared';
  describe('real manifests', skipFor(obstacle), () => {
    it.each([
      { file: 'flannel-v0.24.3.yaml', added: [] },
      { file: 'flannel-chart-after-pr1907.yaml', added: [MASTER] },
      { file: 'kube-proxy-talos.yaml', added: [] },
    ])('$file', async ({ file, added }) => {
      const before = await cp().kubectl([
        'create',
        '--dry-run=client',
        '--validate=false',
        '-o',
        'json',
        '-f',
        new URL(file, fixtures).pathname,
      ]);
      const { metadata, spec } = JSON.parse(before.stdout);
      const text = readFileSync(new URL(file, fixtures), 'utf8');
      const { passed, error } = await kubectl(cp(), admin, ['create', '-f', '-'], text);
      expect(passed, error).toBe(true);
      expect(await tolerationsOf(metadata.namespace, metadata.name)).toEqual([
        ...spec.template.spec.tolerations,
        ...added,
      ]);
      await kubectl(cp(), admin, ['delete', '-f', '-'], text);
    });
  });
});
