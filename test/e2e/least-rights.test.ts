import { afterAll, beforeAll, expect, it } from 'vitest';
import { type GrantingValue, RIGHTS } from '../../scripts/chart.ts';
import type { PolicyKind } from '../../src/policy/policy.ts';
import type { PolicyStatus } from '../../src/policy/reporting/policy-status.ts';
import { MERGE_PATCH } from '../control-plane/content-types.ts';
import { describeWithControlPlane } from '../control-plane/describe-with-control-plane.ts';
import { admin } from '../control-plane/users.ts';
import { type Installation, install } from './installation.ts';
import { kubectl } from './nodes.ts';
import { policyObject } from './policy-objects.ts';
import { createPolicy, POLICIES_PATH } from './policy-resources.ts';

/** A leader looks every ten seconds whether it has been permitted, and writes statuses every five. */
const TIMEOUT_MS = 40_000;
const TEST_TIMEOUT_MS = 120_000;
const DAEMON_SETS = '/apis/apps/v1/namespaces/kube-system/daemonsets';

const daemonSets = { namespaces: ['kube-system'] };
const toleration = { key: 'dedicated', operator: 'Exists', effect: 'NoSchedule' };
const POLICIES = {
  patching: policyObject('TolerationPolicy', 'patching', {
    mode: 'Mutate',
    daemonSets,
    tolerations: [toleration],
    existing: 'Patch',
  }),
  recovering: policyObject('RecoveryPolicy', 'recovering', { daemonSets }),
  backed: policyObject('TaintPolicy', 'backed', {
    mode: 'Deny',
    taints: [{ key: 'dedicated' }],
    backstop: 'Native',
  }),
};

describeWithControlPlane('what the default installation may not do', {}, (cp) => {
  let installation: Installation;

  beforeAll(async () => {
    installation = await install(cp());
    await installation.start(['a'], { args: ['--owner-cluster-role', 'taintkeeper'] });
    const template = {
      metadata: { labels: { app: 'old' } },
      spec: { containers: [{ name: 'old', image: 'old.invalid/old:1' }] },
    };
    const body = { metadata: { name: 'old' }, spec: { selector: { matchLabels: { app: 'old' } }, template } };
    expect((await cp().request(admin, 'POST', DAEMON_SETS, { body })).status).toBe(201);
    // Healthy, as the DaemonSet controller would say: there are no nodes.
    const zero = { currentNumberScheduled: 0, numberMisscheduled: 0, desiredNumberScheduled: 0, numberReady: 0 };
    const status = { ...zero, observedGeneration: 1 };
    const answer = await cp().request(admin, 'PATCH', `${DAEMON_SETS}/old/status`, {
      body: { status },
      contentType: MERGE_PATCH,
    });
    expect(answer.status).toBe(200);
    for (const policy of Object.values(POLICIES)) expect((await createPolicy(cp(), policy)).status).toBe(201);
  });
  afterAll(() => installation.stop());

  async function conditionsOf(kind: PolicyKind, name: string) {
    const { body } = await cp().request<{ status?: PolicyStatus }>(admin, 'GET', `${POLICIES_PATH[kind]}/${name}`);
    return Object.fromEntries((body.status?.conditions ?? []).map((condition) => [condition.type, condition]));
  }
  const expectConditions = (kind: PolicyKind, name: string, timeout = TIMEOUT_MS) =>
    expect.poll(() => conditionsOf(kind, name), { timeout, interval: 500 });
  async function change(command: 'apply' | 'delete', value: GrantingValue): Promise<void> {
    expect(await cp().kubectl([command, '-f', RIGHTS[value]])).toMatchObject({ code: 0 });
  }
  const failures = async () =>
    (await installation.replica('a').metrics())
      .split('\n')
      .filter((line) => /^taintkeeper_reconciliations_total\{.*result="error"/.test(line))
      .filter((line) => /(daemon-set-patching|pod-recovery|backstop|permissions)"/.test(line) && !line.endsWith(' 0'));
  const tolerations = async () => {
    const { body } = await cp().request<{ spec: { template: { spec: { tolerations?: object[] } } } }>(
      admin,
      'GET',
      `${DAEMON_SETS}/old`,
    );
    return body.spec.template.spec.tolerations ?? [];
  };

  it.each([
    {
      kind: 'TolerationPolicy',
      name: 'patching',
      says: 'existing: Patch needs permission to',
      value: 'patchDaemonSets',
    },
    {
      kind: 'RecoveryPolicy',
      name: 'recovering',
      says: 'a RecoveryPolicy needs permission to',
      value: 'recoverPods',
    },
  ] as const)('$name says at once what it would take: $value', async ({ kind, name, says, value }) => {
    await expectConditions(kind, name).toMatchObject({
      Ready: { status: 'True' },
      Stalled: { status: 'True', reason: 'NotPermitted', message: expect.stringContaining(says) },
    });
    const { Stalled } = await conditionsOf(kind, name);
    expect(Stalled?.message).toContain(
      `set ${value}: true in the chart's values, or run the commands that taintkeeper doctor prints`,
    );
  });

  it('a backstop says so as well', async () => {
    const message = expect.stringContaining('set nativePolicies: true');
    await expectConditions('TaintPolicy', 'backed').toMatchObject({
      Ready: { status: 'True' },
      Backstop: { status: 'False', reason: 'NotPermitted', message },
      Stalled: { reason: 'BackstopNotInForce' },
    });
  });

  it('nothing was tried that would have been refused', async () => {
    expect(await failures()).toEqual([]);
    expect(await tolerations()).toEqual([]);
    const { stdout } = await cp().kubectl([
      'get',
      'events',
      '-A',
      '-o',
      'name',
      '--field-selector=reason=TolerationMissing',
    ]);
    expect(stdout).toBe('');
  });

  it(
    'once it is permitted, it is done',
    async () => {
      for (const value of ['patchDaemonSets', 'recoverPods', 'nativePolicies'] as const) await change('apply', value);
      await expectConditions('TaintPolicy', 'backed').toMatchObject({ Backstop: { reason: 'InForce' } });
      await expectConditions('RecoveryPolicy', 'recovering').not.toHaveProperty('Stalled');
      await expect.poll(tolerations, { timeout: TIMEOUT_MS }).toEqual([toleration]);
      await expectConditions('TolerationPolicy', 'patching').not.toHaveProperty('Stalled');
      expect(await failures()).toEqual([]);
    },
    TEST_TIMEOUT_MS,
  );

  it(
    'taken away again, what is left in force is named, and the command that is named with it ends it',
    async () => {
      await change('delete', 'nativePolicies');
      // A leader that looks only now, as after `helm upgrade`.
      await installation.replica('a').stop();
      await installation.start(['b'], { args: ['--owner-cluster-role', 'taintkeeper'] });
      await expectConditions('TaintPolicy', 'backed').toMatchObject({
        Backstop: {
          status: 'False',
          reason: 'LeftInForce',
          message: expect.stringContaining('backed.protect.taintkeeper.dev'),
        },
      });
      const { Backstop } = await conditionsOf('TaintPolicy', 'backed');
      const [, command = ''] = /kubectl (delete .*)$/.exec(Backstop?.message ?? '') ?? [];
      expect(await kubectl(cp(), admin, command.split(' '))).toMatchObject({ passed: true });
      await expectConditions('TaintPolicy', 'backed').toMatchObject({ Backstop: { reason: 'NotPermitted' } });
    },
    TEST_TIMEOUT_MS,
  );

  it(
    'without the right to list DaemonSets, the policies that need them say so',
    async () => {
      const role = '/apis/rbac.authorization.k8s.io/v1/clusterroles/taintkeeper';
      const { body: before } = await cp().request<{ rules: { resources?: string[] }[] }>(admin, 'GET', role);
      const rules = before.rules.filter(({ resources = [] }) => !resources.includes('daemonsets'));
      expect(rules.length).toBeLessThan(before.rules.length);
      const answer = await cp().request(admin, 'PATCH', role, { body: { rules }, contentType: MERGE_PATCH });
      expect(answer.status).toBe(200);
      await installation.replica('b').stop();
      await installation.start(['c'], { args: ['--owner-cluster-role', 'taintkeeper'] });
      const notListed = {
        Ready: { status: 'True' },
        Stalled: { reason: 'NotListed', message: expect.stringContaining('the leader cannot list DaemonSets: ') },
      };
      await expectConditions('TolerationPolicy', 'patching', TEST_TIMEOUT_MS / 2).toMatchObject(notListed);
      await expectConditions('RecoveryPolicy', 'recovering').toMatchObject(notListed);
      await expectConditions('TaintPolicy', 'backed').toMatchObject({ Stalled: { reason: 'BackstopNotInForce' } });
    },
    TEST_TIMEOUT_MS,
  );
});
