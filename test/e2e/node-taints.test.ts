import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { MERGE_PATCH, STRATEGIC_MERGE_PATCH } from '../control-plane/content-types.ts';
import { describeWithControlPlane } from '../control-plane/describe-with-control-plane.ts';
import { startTaintkeeper, type Taintkeeper } from '../control-plane/taintkeeper.ts';
import { admin, developer, node } from '../control-plane/users.ts';
import { MUTATING_WEBHOOK, registerWebhook, VALIDATING_WEBHOOK } from '../control-plane/webhook.ts';
import { LOSING } from './losing-a-taint.ts';
import { attempt, GPU, getNode, kubectl, OTHER, path, RELEASE, type Taint, taintsOf } from './nodes.ts';

/** A policy for the nodes of one pool, so that one webhook serves all tests. */
const policyFor = (pool: string, mode: string, more = '', taint = 'key: dedicated', label = 'pool') => `
apiVersion: taintkeeper.dev/v1alpha1
kind: TaintPolicy
metadata: { name: ${pool} }
spec:
  mode: ${mode}
  nodeSelector: { matchLabels: { ${label}: ${pool} } }
  taints: [{ ${taint} }]
  ${more}
`;

const REQUIRED = 'key: dedicated, value: gpu, effect: NoSchedule, ensure: Always';

const POLICIES = [
  policyFor('deny', 'Deny'),
  policyFor('restore', 'Restore'),
  policyFor('audit', 'Audit'),
  policyFor('exempting', 'Deny', 'exempt: { users: ["dev@*"] }'),
  policyFor('never', 'Deny', 'removalByAnnotation: Forbidden'),
  policyFor('present', 'Restore', '', REQUIRED),
  policyFor('batch', 'Restore', '', REQUIRED, 'queue'),
].join('---');

type Pool = 'deny' | 'restore' | 'audit' | 'exempting' | 'never' | 'present';

describeWithControlPlane('node taints', {}, (cp) => {
  let taintkeeper: Taintkeeper;
  let count = 0;

  beforeAll(async () => {
    taintkeeper = await startTaintkeeper({ policies: POLICIES });
    await registerWebhook(cp(), taintkeeper);
  });
  afterAll(async () => {
    expect(await taintkeeper?.stop()).toBe(0);
  });

  async function createNode(pool: Pool | undefined, taints: Taint[] = [GPU], user = admin): Promise<string> {
    const name = user === admin ? `n${++count}` : user.name.replace('system:node:', '');
    const body = { metadata: { name, ...(pool ? { labels: { pool } } : {}) }, spec: { taints } };
    const answer = await cp().request(user, 'POST', '/api/v1/nodes', { body });
    expect(answer.status, JSON.stringify(answer.body)).toBe(201);
    return name;
  }

  async function decisions(policy: string, result: string): Promise<number> {
    const line = new RegExp(
      `^taintkeeper_decisions_total\\{[^}]*policy="${policy}"[^}]*result="${result}",audit="false"\\} (\\d+)$`,
      'm',
    );
    return Number(line.exec(await taintkeeper.metrics())?.[1] ?? 0);
  }

  describe.each([
    ['a developer', developer],
    ['an admin', admin],
  ])('%s', (_who, user) => {
    describe.each(Object.entries(LOSING))('by %s', (_way, lose) => {
      it('is refused in mode Deny, with a reason and a way out', async () => {
        const name = await createNode('deny');
        const { passed, error } = await lose(cp(), name, user);
        expect(passed).toBe(false);
        expect(error).toContain(
          `node ${name}: removing taint dedicated=gpu:NoSchedule is not allowed (TaintPolicy "deny"`,
        );
        expect(error).toContain(`kubectl annotate --overwrite node ${name} ${RELEASE}=dedicated=gpu:NoSchedule`);
        expect(await taintsOf(cp(), name)).toEqual(['dedicated=gpu:NoSchedule']);
      });

      it('is undone in mode Restore, with a warning', async () => {
        const name = await createNode('restore');
        const { passed, error, warnings } = await lose(cp(), name, user);
        expect(passed, error).toBe(true);
        expect(warnings).toContain('TaintPolicy restore restored taint dedicated=gpu:NoSchedule');
        const taints = await taintsOf(cp(), name);
        expect(taints).toContain('dedicated=gpu:NoSchedule');
        expect(new Set(taints.map((taint) => taint.replace(/=[^:]*/, ''))).size).toBe(taints.length);
      });

      it('passes in mode Audit, with a warning and a metric', async () => {
        const name = await createNode('audit');
        const before = await decisions('audit', 'Audited');
        const { passed, error, warnings } = await lose(cp(), name, user);
        expect(passed, error).toBe(true);
        expect(warnings).toEqual(['TaintPolicy audit, Audit: the request removed taint dedicated=gpu:NoSchedule']);
        expect(await taintsOf(cp(), name)).not.toContain('dedicated=gpu:NoSchedule');
        expect(await decisions('audit', 'Audited')).toBe(before + 1);
      });
    });
  });

  describe("the API server's audit log", () => {
    it.each<[pool: Pool, annotation: string]>([
      ['deny', `${VALIDATING_WEBHOOK}/denied`],
      ['restore', `${MUTATING_WEBHOOK}/restored`],
      ['audit', `${VALIDATING_WEBHOOK}/audited`],
    ])('says what became of it: %s', async (pool, annotation) => {
      const name = await createNode(pool);
      const answer = await cp().request(developer, 'PATCH', path(name), {
        body: { spec: { taints: null } },
        contentType: MERGE_PATCH,
      });
      const { annotations } = await cp().auditEvent(answer);
      expect(annotations).toMatchObject({ [annotation]: `${pool}: dedicated=gpu:NoSchedule` });
    });
  });

  it('Restore keeps the other changes of the request, and their order', async () => {
    const name = await createNode('restore', [OTHER, GPU]);
    const taints = [{ key: 'new', effect: 'NoSchedule' }, OTHER];
    const { passed } = await attempt(
      cp(),
      developer,
      'PATCH',
      path(name),
      { metadata: { labels: { also: 'changed' } }, spec: { taints } },
      MERGE_PATCH,
    );
    expect(passed).toBe(true);
    expect(await taintsOf(cp(), name)).toEqual([
      'new:NoSchedule',
      'example.com/other:NoSchedule',
      'dedicated=gpu:NoSchedule',
    ]);
    expect((await getNode(cp(), name)).metadata.labels).toMatchObject({ also: 'changed' });
  });

  it('a user whom the policy exempts may remove the taint; others may not; the log says so', async () => {
    const name = await createNode('exempting');
    expect((await kubectl(cp(), admin, ['taint', 'node', name, 'dedicated-'])).passed).toBe(false);
    expect(await kubectl(cp(), developer, ['taint', 'node', name, 'dedicated-'])).toMatchObject({
      passed: true,
      warnings: [],
    });
    await taintkeeper.waitForLog(
      (line) => line.result === 'AllowedByExemption' && line.name === name && line.user === developer.name,
    );
  });

  describe('an entry of the annotation allow-removal', () => {
    const annotate = (name: string) =>
      kubectl(cp(), developer, ['annotate', '--overwrite', 'node', name, `${RELEASE}=dedicated=gpu:NoSchedule`]);

    it.each<Pool>(['deny', 'restore'])(
      'allows the removal, which is reported, until the taint is set again: %s',
      async (pool) => {
        const name = await createNode(pool);
        expect((await annotate(name)).warnings).toEqual([]);
        const answer = await cp().request(developer, 'PATCH', path(name), {
          body: { spec: { taints: null } },
          contentType: MERGE_PATCH,
        });
        expect(answer).toMatchObject({
          status: 200,
          warnings: [`TaintPolicy ${pool} allowed the removal of taint dedicated=gpu:NoSchedule by annotation`],
        });
        const entry = { [RELEASE]: 'dedicated=gpu:NoSchedule' };
        expect((await getNode(cp(), name)).metadata.annotations).toMatchObject(entry);
        expect(await taintsOf(cp(), name)).toEqual([]);
        expect((await cp().auditEvent(answer)).annotations).toMatchObject({
          [`${VALIDATING_WEBHOOK}/allowed-by-annotation`]: `${pool}: dedicated=gpu:NoSchedule`,
        });

        await kubectl(cp(), developer, ['taint', 'node', name, 'dedicated=gpu:NoSchedule']);
        expect((await getNode(cp(), name)).metadata.annotations ?? {}).not.toHaveProperty([RELEASE]);
        await kubectl(cp(), developer, ['taint', 'node', name, 'dedicated-']);
        expect(await taintsOf(cp(), name)).toEqual(['dedicated=gpu:NoSchedule']);
      },
    );

    it('takes two requests: one write cannot allow and remove', async () => {
      const name = await createNode('deny');
      const body = { metadata: { annotations: { [RELEASE]: 'dedicated=gpu:NoSchedule' } }, spec: { taints: null } };
      expect((await attempt(cp(), developer, 'PATCH', path(name), body, MERGE_PATCH)).passed).toBe(false);
    });

    it('is not taken over by kubectl replace with an old export, with or without the annotation', async () => {
      const name = await createNode('deny');
      const { metadata } = await getNode(cp(), name);
      const exported = { apiVersion: 'v1', kind: 'Node', metadata: { name, labels: metadata.labels }, spec: {} };
      for (const annotations of [{}, { [RELEASE]: 'dedicated=gpu:NoSchedule' }]) {
        const object = { ...exported, metadata: { ...exported.metadata, annotations } };
        const { passed } = await kubectl(cp(), developer, ['replace', '-f', '-'], JSON.stringify(object));
        expect(passed).toBe(false);
      }
      expect(await taintsOf(cp(), name)).toEqual(['dedicated=gpu:NoSchedule']);
    });

    it('does not help against removalByAnnotation: Forbidden', async () => {
      const name = await createNode('never');
      await annotate(name);
      const { passed, error } = await kubectl(cp(), developer, ['taint', 'node', name, 'dedicated-']);
      expect(passed).toBe(false);
      expect(error).toContain('TaintPolicy "never" does not allow removal by annotation');
    });
  });

  it('a label change by which the policy does not select the node any more passes in silence, and removes no taint', async () => {
    const name = await createNode('deny');
    const body = { metadata: { labels: { pool: null } } };
    expect(await attempt(cp(), developer, 'PATCH', path(name), body, MERGE_PATCH)).toEqual({
      ...{ passed: true, error: '', warnings: [] },
    });
    expect(await taintsOf(cp(), name)).toEqual(['dedicated=gpu:NoSchedule']);
  });

  it('a label change by which a policy selects the node sets its required taint in the same request', async () => {
    const name = await createNode(undefined, [OTHER]);
    const { passed, warnings } = await kubectl(cp(), developer, ['label', 'node', name, 'pool=present']);
    expect({ passed, warnings }).toEqual({
      passed: true,
      warnings: ['TaintPolicy present added taint dedicated=gpu:NoSchedule'],
    });
    expect(await taintsOf(cp(), name)).toEqual(['example.com/other:NoSchedule', 'dedicated=gpu:NoSchedule']);
  });

  it('a change to the value that a policy requires passes, though another policy protects the old value', async () => {
    const name = await createNode('deny', [{ ...GPU, value: 'cpu' }]);
    const overwrite = () =>
      kubectl(cp(), developer, ['taint', '--overwrite', 'node', name, 'dedicated=gpu:NoSchedule']);
    expect((await overwrite()).passed).toBe(false);
    await kubectl(cp(), admin, ['label', 'node', name, 'queue=batch']);
    expect(await overwrite()).toMatchObject({ passed: true, error: '' });
    expect(await taintsOf(cp(), name)).toEqual(['dedicated=gpu:NoSchedule']);
  });

  it('a taint that the API server shows with timeAdded: null does not stand in the way', async () => {
    const name = await createNode('deny', [{ ...GPU, timeAdded: '0001-01-01T00:00:00Z' } as Taint]);
    expect(await kubectl(cp(), developer, ['cordon', name])).toEqual({ passed: true, error: '', warnings: [] });
  });

  describe('a kubelet', () => {
    it('that registers its node gets the required taints at once', async () => {
      const name = await createNode('present', [OTHER], node('worker-1'));
      expect(await taintsOf(cp(), name)).toEqual(['example.com/other:NoSchedule', 'dedicated=gpu:NoSchedule']);
    });

    it('that registers with another value gets the right one', async () => {
      const name = await createNode('present', [{ ...GPU, value: 'cpu' }], node('worker-2'));
      expect(await taintsOf(cp(), name)).toEqual(['dedicated=gpu:NoSchedule']);
    });

    it('may change its labels while a required taint is missing: its update is never patched', async () => {
      const name = await createNode(undefined, [], node('worker-3'));
      const join = { metadata: { labels: { pool: 'present' } } };
      const joined = await attempt(cp(), node('worker-3'), 'PATCH', path(name), join, STRATEGIC_MERGE_PATCH);
      expect(joined.passed, joined.error).toBe(true);
      const relabel = { metadata: { labels: { 'example.com/zone': 'a' } } };
      const { passed, error } = await attempt(
        cp(),
        node('worker-3'),
        'PATCH',
        path(name),
        relabel,
        STRATEGIC_MERGE_PATCH,
      );
      expect(passed, error).toBe(true);
      expect(await taintsOf(cp(), name)).toEqual([]);
    });

    it('may not remove a taint itself', async () => {
      const name = await createNode('restore', [GPU], node('worker-4'));
      const { passed } = await attempt(
        cp(),
        node('worker-4'),
        'PATCH',
        path(name),
        { spec: { taints: null } },
        MERGE_PATCH,
      );
      expect(passed).toBe(false);
      expect(await taintsOf(cp(), name)).toEqual(['dedicated=gpu:NoSchedule']);
    });

    it('reports its status undisturbed', async () => {
      const name = await createNode('deny', [GPU], node('worker-5'));
      const status = { status: { conditions: [{ type: 'Ready', status: 'True', reason: 'KubeletReady' }] } };
      const { passed, warnings } = await attempt(
        cp(),
        node('worker-5'),
        'PATCH',
        `${path(name)}/status`,
        status,
        STRATEGIC_MERGE_PATCH,
      );
      expect({ passed, warnings }).toEqual({ passed: true, warnings: [] });
    });
  });

  it.each<[pool: Pool, passed: boolean]>([
    ['deny', false],
    ['restore', true],
    ['audit', true],
  ])('--dry-run=server gets the same answer and leaves no trace: %s', async (pool, passed) => {
    const name = await createNode(pool);
    const { resourceVersion } = (await getNode(cp(), name)).metadata;
    const counters = async () =>
      (await taintkeeper.metrics()).match(
        /^taintkeeper_(decisions_total|admission_(requests_total|duration_seconds_count)).*$/gm,
      );
    const isAbout = (node: string) => (line: object) =>
      JSON.stringify(line).includes(`"operation":"UPDATE","kind":"Node","name":"${node}"`);
    const dryRuns = async () =>
      Number(
        /^taintkeeper_admission_dry_runs_total\{path="mutate"\} (\d+)$/m.exec(await taintkeeper.metrics())?.[1] ?? 0,
      );
    const before = { counters: await counters(), dryRuns: await dryRuns() };

    const attempted = await kubectl(cp(), developer, ['taint', 'node', name, 'dedicated-', '--dry-run=server']);

    expect(attempted.passed).toBe(passed);
    expect(attempted.warnings).toHaveLength(passed ? 1 : 0);
    expect(await counters()).toEqual(before.counters);
    expect(await dryRuns()).toBe(before.dryRuns + 1);
    expect((await getNode(cp(), name)).metadata.resourceVersion).toBe(resourceVersion);

    // Lines are written together: with one that comes later, all before it are there.
    const later = await createNode('deny');
    await kubectl(cp(), developer, ['taint', 'node', later, 'dedicated-']);
    await taintkeeper.waitForLog(isAbout(later));
    expect(taintkeeper.logs().filter(isAbout(name))).toEqual([]);
  });

  it.each([
    ['cordon', ['cordon']],
    ['a label', ['label', 'node', 'x=y']],
    ['another taint', ['taint', 'node', 'another=1:NoSchedule']],
  ])('other changes of a protected node pass in silence: %s', async (_what, [verb = '', ...rest]) => {
    const name = await createNode('deny');
    const args = rest[0] === 'node' ? [verb, 'node', name, ...rest.slice(1)] : [verb, name];
    expect(await kubectl(cp(), developer, args)).toEqual({ passed: true, error: '', warnings: [] });
  });
});
