import { afterAll, beforeAll, expect, it } from 'vitest';
import { describeWithControlPlane } from '../control-plane/describe-with-control-plane.ts';
import { admin, developer } from '../control-plane/users.ts';
import { ON_PODS } from './doctor-rig.ts';
import {
  expectHealthyChecks,
  type Fault,
  type HealthyInstallation,
  startHealthyInstallation,
} from './healthy-installation.ts';
import { runTaintkeeper } from './run-taintkeeper.ts';

const OTHER_WEBHOOKS = '/apis/admissionregistration.k8s.io/v1/validatingwebhookconfigurations';
const CLUSTER_ROLE = '/apis/rbac.authorization.k8s.io/v1/clusterroles/taintkeeper';
const TAINT_POLICIES = '/apis/taintkeeper.dev/v1alpha1/taintpolicies';

describeWithControlPlane('doctor', ON_PODS, (cp) => {
  let installation: HealthyInstallation;

  beforeAll(async () => {
    installation = await startHealthyInstallation(cp());
  });
  afterAll(() => installation?.rig.stop());

  it('has no complaint of an installation that is well', async () => {
    const { code, diagnosis } = await installation.healthy(({ checks }) => checks.every(({ state }) => state === 'ok'));
    expect(code).toBe(0);
    expectHealthyChecks(diagnosis);
  });

  let rules: unknown[] = [];

  const faults: Fault[] = [
    {
      fault: 'a right that is missing',
      result: 'configuration',
      check: 'rights',
      says: /may not patch nodes/,
      async breakIt() {
        const role = (
          await cp().request<{ rules: { resources: string[]; verbs: string[] }[] }>(admin, 'GET', CLUSTER_ROLE)
        ).body;
        rules = role.rules;
        const fewer = role.rules.map((rule) =>
          rule.resources.includes('nodes') ? { ...rule, verbs: ['get', 'list', 'watch'] } : rule,
        );
        await installation.rig.patch(CLUSTER_ROLE, { rules: fewer });
      },
      fixIt: () => installation.rig.patch(CLUSTER_ROLE, { rules }),
    },
    {
      fault: 'a policy that can select nothing',
      result: 'configuration',
      check: 'selectors',
      says: /TaintPolicy gpu-pool can select no node: nothing is pool=gpu, !pool/,
      breakIt: () =>
        cp().request(admin, 'POST', TAINT_POLICIES, {
          body: {
            apiVersion: 'taintkeeper.dev/v1alpha1',
            kind: 'TaintPolicy',
            metadata: { name: 'gpu-pool' },
            spec: {
              mode: 'Deny',
              nodeSelector: {
                matchLabels: { pool: 'gpu' },
                matchExpressions: [{ key: 'pool', operator: 'DoesNotExist' }],
              },
              taints: [{ key: 'dedicated', effect: 'NoSchedule' }],
            },
          },
        }),
      fixIt: () => cp().request(admin, 'DELETE', `${TAINT_POLICIES}/gpu-pool`),
    },
    {
      fault: "another program's webhook for nodes, with failure policy Fail",
      result: 'configuration',
      check: 'other webhooks',
      says: /no node registers/,
      breakIt: () =>
        cp().request(admin, 'POST', OTHER_WEBHOOKS, {
          body: {
            metadata: { name: 'somebody-else' },
            webhooks: [
              {
                name: 'check.example.com',
                clientConfig: { url: 'https://127.0.0.1:1/check' },
                rules: [
                  { apiGroups: [''], apiVersions: ['v1'], resources: ['nodes'], operations: ['CREATE', 'UPDATE'] },
                ],
                failurePolicy: 'Fail',
                sideEffects: 'None',
                admissionReviewVersions: ['v1'],
              },
            ],
          },
        }),
      fixIt: () => cp().request(admin, 'DELETE', `${OTHER_WEBHOOKS}/somebody-else`),
    },
  ];

  it.each(faults)('names the configuration for $fault', (fault) => installation.namesIt(fault));

  it('reports unknown, not healthy, for a user who may not read the installation', async () => {
    const kubeconfig = await cp().kubeconfigFile(developer);
    const { code, stdout } = await runTaintkeeper(cp(), ['doctor', '--kubeconfig', kubeconfig]);
    expect(stdout).toMatch(/^unknown: .*: you may not /);
    expect(code).toBe(2);
  });

  it('ends with code 2 and the error when it cannot reach the API server', async () => {
    const nowhere = await cp().kubeconfigFile(admin, 'https://127.0.0.1:1');
    const { code, stdout, stderr } = await runTaintkeeper(cp(), ['doctor', '--kubeconfig', nowhere]);
    expect({ code, stdout }).toEqual({ code: 2, stdout: '' });
    expect(stderr).toMatch(/^taintkeeper: https:\/\/127.0.0.1:1: GET \/version: connect ECONNREFUSED/);
  });
});
