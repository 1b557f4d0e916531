import { readdirSync, readFileSync } from 'node:fs';
import { fileURLToPath } from 'node:url';
import Value from 'typebox/value';
import { beforeAll, describe, expect, it } from 'vitest';
import { parseAllDocuments } from 'yaml';
import { crdFiles } from '../../scripts/crds.ts';
import type { Policy, PolicyKind } from '../../src/policy/policy.ts';
import { DEFAULT_TOLERATIONS } from '../../src/policy/toleration-policy.ts';
import { describeWithControlPlane } from '../control-plane/describe-with-control-plane.ts';
import { admin } from '../control-plane/users.ts';
import { SPEC_SCHEMAS } from '../unit/policy/spec-schemas.ts';
import { POLICY_CASES } from './policy-cases.ts';
import { type PolicyObject, policyObject, readPolicy } from './policy-objects.ts';
import { createPolicy, installCrds, POLICIES_PATH } from './policy-resources.ts';

const ROOT = new URL('../../', import.meta.url);

/** A policy with its schema's defaults spelt out. */
function withDefaults(policy: Policy): unknown {
  return { ...policy, spec: Value.Default(SPEC_SCHEMAS[policy.kind], structuredClone(policy.spec)) };
}

/** All policy files that the project ships or shows. */
const policyFiles = ['manifests/policies/', 'examples/policies/', 'demo/']
  .flatMap((folder) => readdirSync(new URL(folder, ROOT)).map((file) => folder + file))
  .map((file) => ({ file, text: readFileSync(new URL(file, ROOT), 'utf8') }))
  .filter(({ file, text }) => file.endsWith('.yaml') && text.includes('apiVersion: taintkeeper.dev/'));

describeWithControlPlane('CRDs', {}, (cp) => {
  beforeAll(() => installCrds(cp()));

  it.each(Object.keys(crdFiles()))('%s is established, structural, and unchanged when applied again', async (file) => {
    interface Crd {
      metadata: { generation: number; resourceVersion: string };
      status: { conditions: { type: string; status: string }[] };
    }
    const path = `/apis/apiextensions.k8s.io/v1/customresourcedefinitions/${file.replace('.yaml', '')}`;
    const before = await cp().request<Crd>(admin, 'GET', path);
    expect(before.body.status.conditions.map(({ type, status }) => `${type}=${status}`).sort()).toEqual([
      'Established=True',
      'NamesAccepted=True',
    ]);
    const committed = fileURLToPath(new URL(`manifests/chart/files/crds/${file}`, ROOT));
    const again = await cp().kubectl(['apply', '--server-side', '--validate=strict', '-f', committed]);
    expect(again).toMatchObject({ code: 0, stderr: '' });
    const after = await cp().request<Crd>(admin, 'GET', path);
    expect(after.body.metadata).toEqual(before.body.metadata);
  });

  describe('what is stored reads as what was written, defaults aside', () => {
    const written = [
      ...POLICY_CASES.filter(({ field }) => field === undefined).map(({ why, kind, spec }, index) => ({
        why,
        object: policyObject(kind, `valid-${index}`, spec),
      })),
      ...policyFiles.flatMap(({ file, text }) =>
        parseAllDocuments(text).map((document) => ({ why: file, object: document.toJS() as PolicyObject })),
      ),
    ];
    // The demo and an example are about the same policy.
    const named = written.map(({ why, object }, index) => ({
      why,
      object: { ...object, metadata: { name: `${object.metadata.name}-${index}` } },
    }));

    it.each(named)('$object.metadata.name: $why', async ({ object }) => {
      expect(await createPolicy(cp(), object)).toMatchObject({ status: 201, warnings: [] });
      const path = `${POLICIES_PATH[object.kind]}/${object.metadata.name}`;
      const stored = await cp().request<PolicyObject>(admin, 'GET', path);
      expect(withDefaults(readPolicy(stored.body))).toEqual(withDefaults(readPolicy(object)));
      expect(await cp().request(admin, 'DELETE', path)).toMatchObject({ status: 200 });
    });

    it('and defaults are spelt out, but not in lists: `kubectl apply` would replace these each time', async () => {
      const stored = async (kind: PolicyKind, spec: object) => {
        const { body } = await createPolicy(cp(), policyObject(kind, 'defaulted', spec), { dryRun: true });
        return (body as unknown as PolicyObject).spec;
      };
      const taints = [{ key: 'dedicated' }];
      expect(await stored('TaintPolicy', { mode: 'Deny', taints })).toEqual({
        mode: 'Deny',
        taints,
        removalByAnnotation: 'Allowed',
        backstop: 'None',
      });
      const daemonSets = { namespaces: ['cilium'] };
      expect(await stored('TolerationPolicy', { mode: 'Audit', daemonSets })).toEqual({
        mode: 'Audit',
        daemonSets: { ...daemonSets, names: ['*'] },
        tolerations: DEFAULT_TOLERATIONS,
        existing: 'Report',
        backstop: 'None',
      });
      const recovery = {
        mode: 'Recover',
        daemonSets: { ...daemonSets, names: ['*'] },
      };
      expect(await stored('RecoveryPolicy', { daemonSets })).toEqual(recovery);
    });
  });

  it.each(policyFiles)('$file applies, and again without a change', async ({ file, text }) => {
    const objects = parseAllDocuments(text).map((document) => document.toJS() as PolicyObject);
    expect(objects.length).toBeGreaterThan(0);
    const apply = () =>
      cp().kubectl(['apply', '--server-side', '--validate=strict', '-f', fileURLToPath(new URL(file, ROOT))]);
    const metadata = () =>
      Promise.all(
        objects.map(async ({ kind, metadata: { name } }) => {
          const { body } = await cp().request<PolicyObject>(admin, 'GET', `${POLICIES_PATH[kind]}/${name}`);
          return body.metadata;
        }),
      );
    expect(await apply()).toMatchObject({ code: 0, stderr: '' });
    const first = await metadata();
    expect(first.map(({ generation }) => generation)).toEqual(objects.map(() => 1));
    expect(await apply()).toMatchObject({ code: 0, stderr: '' });
    expect(await metadata()).toEqual(first);
    // The same without --server-side, which most people type; the first time it notes that it has seen the object.
    const plainly = () => cp().kubectl(['apply', '-f', fileURLToPath(new URL(file, ROOT))]);
    expect(await plainly()).toMatchObject({ code: 0 });
    expect((await plainly()).stdout.trim().split('\n')).toEqual(
      objects.map(() => expect.stringMatching(/ unchanged$/)),
    );
    expect((await metadata()).map(({ generation }) => generation)).toEqual(objects.map(() => 1));
    expect(await cp().kubectl(['delete', '-f', fileURLToPath(new URL(file, ROOT))])).toMatchObject({ code: 0 });
  });

  describe('to those who use kubectl', () => {
    const readyCondition = (status: string) => ({
      type: 'Ready',
      status,
      observedGeneration: 1,
      lastTransitionTime: '2026-01-01T00:00:00Z',
      reason: 'InForce',
      message: '',
    });
    const status = {
      observedGeneration: 1,
      conditions: [readyCondition('True'), { ...readyCondition('True'), type: 'Stalled', reason: 'TaintConflict' }],
      mode: 'Audit',
      matched: 3,
      violating: 1,
      violators: ['n1'],
    };
    const writeStatus = async (kind: PolicyKind, name: string, status: object) => {
      const path = `${POLICIES_PATH[kind]}/${name}`;
      const { body } = await cp().request<PolicyObject>(admin, 'GET', path);
      return cp().request<PolicyObject>(admin, 'PUT', `${path}/status`, { body: { ...body, status } });
    };

    const daemonSets = { namespaces: ['cilium'] };
    const listed = [
      policyObject('TaintPolicy', 'listed-taint', {
        mode: 'Restore',
        taints: [{ key: 'dedicated' }],
      }),
      policyObject('TolerationPolicy', 'listed-daemons', { mode: 'Audit', daemonSets }),
      policyObject('RecoveryPolicy', 'listed-recovery', { daemonSets }),
    ];

    beforeAll(async () => {
      for (const policy of listed) {
        expect(await createPolicy(cp(), policy)).toMatchObject({ status: 201 });
        expect(await writeStatus(policy.kind, policy.metadata.name, status)).toMatchObject({ status: 200 });
      }
    });

    const rows = async (...args: string[]) => {
      const { stdout } = await cp().kubectl(['get', ...args]);
      return stdout.split('\n').map((line) => line.trim().split(/\s+/).slice(0, 7).join(' '));
    };

    it.each([
      ['taintpol', 'listed-taint Restore Audit 3 1 True TaintConflict'],
      ['taintpolicy', 'listed-taint Restore Audit 3 1 True TaintConflict'],
      ['tolpol', 'listed-daemons Audit Audit 3 1 True TaintConflict'],
      ['tolerationpolicies', 'listed-daemons Audit Audit 3 1 True TaintConflict'],
      ['recpol', 'listed-recovery Recover Audit 3 1 True TaintConflict'],
      ['recoverypolicies', 'listed-recovery Recover Audit 3 1 True TaintConflict'],
    ])('`kubectl get %s` shows the columns', async (resource, row) => {
      const count = resource.startsWith('rec') ? 'STUCK' : 'MISSING';
      expect(await rows(resource)).toEqual([`NAME MODE EFFECTIVE MATCHED ${count} READY STALLED`, row, '']);
    });

    it('the category `taintkeeper` has all kinds', async () => {
      const names = (await rows('taintkeeper')).map((row) => row.split(' ')[0]);
      expect(names).toContain('taintpolicy.taintkeeper.dev/listed-taint');
      expect(names).toContain('tolerationpolicy.taintkeeper.dev/listed-daemons');
      expect(names).toContain('recoverypolicy.taintkeeper.dev/listed-recovery');
    });

    it('`kubectl explain` has the descriptions', async () => {
      const { stdout } = await cp().kubectl(['explain', 'taintpol.spec.failurePolicy']);
      expect(stdout.replaceAll(/\s+/g, ' ')).toContain('while taintkeeper cannot be called. Fail: it is refused.');
    });

    it('a status is no part of what an author writes, and does not change the generation', async () => {
      const path = `${POLICIES_PATH.TaintPolicy}/listed-taint`;
      const { body } = await cp().request<PolicyObject>(admin, 'GET', path);
      expect(body).toMatchObject({ status, metadata: { generation: 1 } });
      const without = await cp().request<PolicyObject>(admin, 'PUT', path, { body: { ...body, status: {} } });
      expect(without).toMatchObject({ status: 200, body: { status, metadata: { generation: 1 } } });
      expect(readPolicy(body)).toMatchObject({ name: 'listed-taint' });
    });

    it.each([
      [
        'more violators than it may name',
        { violators: Array.from({ length: 11 }, (_, i) => `n${i}`) },
        'status.violators',
      ],
      [
        'two conditions of one type',
        { conditions: [readyCondition('True'), readyCondition('False')] },
        'conditions[1]',
      ],
      ['a count below zero', { violating: -1 }, 'status.violating'],
      [
        'a condition that is not said to hold or not',
        { conditions: [readyCondition('Maybe')] },
        'conditions[0].status',
      ],
    ])('a status with %s is refused', async (_why, broken, field) => {
      for (const { kind, metadata } of listed) {
        const answer = await writeStatus(kind, metadata.name, broken);
        expect(answer.status).toBe(422);
        expect(JSON.stringify(answer.body)).toContain(field);
      }
    });
  });
});
