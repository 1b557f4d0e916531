import { beforeAll, describe, expect, it } from 'vitest';
import { INSTALL } from '../../scripts/chart.ts';
import { COMMAND_RIGHTS, type CommandRights, type RoleRule } from '../../src/cli/command-rights.ts';
import { grantRules } from '../control-plane/cluster-admin.ts';
import { describeWithControlPlane } from '../control-plane/describe-with-control-plane.ts';
import { NAMESPACE } from '../control-plane/replicas.ts';
import { succeeded } from '../control-plane/rest.ts';
import { admin, type User } from '../control-plane/users.ts';
import { waitUntil } from '../control-plane/wait-until.ts';
import { MUTATING_VERSION, obstacleToMutation } from './native-rig.ts';
import { runAs } from './run-taintkeeper.ts';

const RBAC = '/apis/rbac.authorization.k8s.io/v1';
const operator: User = { name: 'operator@example.com', groups: [] };

/** Arguments by which each command reads all that it ever reads. The others need replicas. */
const RUNS: Readonly<Partial<Record<keyof typeof COMMAND_RIGHTS, readonly string[]>>> = {
  'explain node': ['explain', 'node', 'n1'],
  'explain daemonset': ['explain', 'daemonset', 'kube-system/cni'],
  'explain pod': ['explain', 'pod', 'kube-system/cni-x'],
  coverage: ['coverage'],
  'coverage fix': ['coverage', 'fix'],
  'coverage migrate': ['coverage', 'migrate'],
  'export --cluster': ['export', '--cluster'],
  'certs status': ['certs', 'status', '--namespace', NAMESPACE],
  cleanup: ['cleanup', '--dry-run=server'],
  'talos drift': ['talos', 'drift', 'examples/talos/worker.yaml'],
};

const PREPARING = { key: 'example.com/preparing', effect: 'NoSchedule' };
const RESERVED = { key: 'example.com/reserved', effect: 'NoSchedule' };
const CONTAINERS = [{ name: 'daemon', image: 'daemon.example.com/daemon:v1' }];
const TOLERATIONS = [{ key: 'dedicated', operator: 'Exists', effect: 'NoSchedule' }];

const NODE = {
  metadata: { name: 'n1', annotations: { 'taintkeeper.dev/allow-removal': 'example.com/reserved:NoSchedule' } },
  spec: { taints: [PREPARING, RESERVED] },
};

const DAEMON_SET = {
  metadata: { name: 'cni', annotations: { 'taintkeeper.dev/tolerations-added': 'dedicated:NoSchedule' } },
  spec: {
    selector: { matchLabels: { app: 'cni' } },
    template: {
      metadata: { labels: { app: 'cni' } },
      spec: { containers: CONTAINERS, tolerations: TOLERATIONS },
    },
  },
};

/** The policies, so that each command has something to read of every kind. */
const POLICIES = `
apiVersion: taintkeeper.dev/v1alpha1
kind: TaintPolicy
metadata: { name: startup }
spec:
  mode: Restore
  taints:
    - key: ${PREPARING.key}
      effect: NoSchedule
      ensure: UntilReady
      readyWhen: { daemonSets: [{ namespace: kube-system, name: cni }], csiDrivers: [{ name: csi.example.com }] }
---
apiVersion: taintkeeper.dev/v1alpha1
kind: TaintPolicy
metadata: { name: reserved }
spec: { mode: Audit, taints: [{ key: ${RESERVED.key}, effect: NoSchedule, ensure: Always }] }
---
apiVersion: taintkeeper.dev/v1alpha1
kind: TolerationRestriction
metadata: { name: dedicated }
spec: { mode: Audit, taints: [{ key: dedicated, effect: NoSchedule }] }
---
apiVersion: admissionregistration.k8s.io/${MUTATING_VERSION}
kind: MutatingAdmissionPolicyBinding
metadata: { name: exported.restore.taintkeeper.dev }
spec: { policyName: exported.restore.taintkeeper.dev }
`;

const NATIVE = { mutatingPolicies: true, obstacle: obstacleToMutation };

describeWithControlPlane('the rights that are listed for a command', NATIVE, (cp) => {
  const run = async (user: User, args: readonly string[]) => {
    const { code, stdout, stderr } = await runAs(user, cp(), args);
    return { code, stdout, stderr };
  };

  /** @returns the uid */
  async function create(path: string, body: object): Promise<string> {
    const { metadata } = await succeeded(cp().request<{ metadata: { uid: string } }>(admin, 'POST', path, { body }));
    return metadata.uid;
  }

  async function createPod(namespace: string, name: string, ownerReferences: object[]): Promise<void> {
    await create(`/api/v1/namespaces/${namespace}/serviceaccounts`, { metadata: { name: 'daemon' } });
    const spec = { serviceAccountName: 'daemon', nodeName: 'n1', containers: CONTAINERS, tolerations: TOLERATIONS };
    const metadata = { name, labels: { app: 'cni' }, ownerReferences };
    await create(`/api/v1/namespaces/${namespace}/pods`, { metadata, spec });
  }

  /** Replaces what the operator may do, and waits until the API server goes by it. */
  async function grant({ inCluster = [], inNamespace = [] }: CommandRights): Promise<void> {
    grants++;
    await replaceRole(`${RBAC}/clusterroles/operator`, inCluster, {});
    await replaceRole(`${RBAC}/namespaces/${NAMESPACE}/roles/operator`, inNamespace, { namespace: NAMESPACE });
  }
  let grants = 0;

  /** A rule about nothing tells one state of a role from another. */
  async function replaceRole(path: string, rules: readonly RoleRule[], place: { namespace?: string }): Promise<void> {
    const name = `${place.namespace ?? 'cluster'}-${grants}`;
    const marker: RoleRule = { apiGroups: [''], resources: ['markers'], resourceNames: [name], verbs: ['get'] };
    const body = { metadata: { name: 'operator' }, rules: [...rules, marker] };
    expect((await cp().request(admin, 'PUT', path, { body })).status).toBe(200);
    const resourceAttributes = { ...place, resource: 'markers', verb: 'get', name };
    const review = { body: { spec: { user: operator.name, resourceAttributes } } };
    const reviews = '/apis/authorization.k8s.io/v1/subjectaccessreviews';
    await waitUntil(
      async () => {
        const answer = await cp().request(admin, 'POST', reviews, review);
        return (answer.body as { status: { allowed: boolean } }).status.allowed || undefined;
      },
      { timeoutMs: 10_000, otherwise: () => `the API server does not go by ${path}` },
    );
  }

  beforeAll(async () => {
    expect(await cp().kubectl(['apply', '-f', INSTALL])).toMatchObject({ code: 0 });
    expect(await cp().kubectl(['apply', '-f', '-'], { input: POLICIES })).toMatchObject({ code: 0, stderr: '' });
    await create('/api/v1/nodes', NODE);
    const uid = await create('/apis/apps/v1/namespaces/kube-system/daemonsets', DAEMON_SET);
    await createPod('kube-system', 'cni-x', [
      { apiVersion: 'apps/v1', kind: 'DaemonSet', name: 'cni', uid, controller: true },
    ]);
    await create('/api/v1/namespaces', { metadata: { name: 'apps' } });
    await createPod('apps', 'app', []);
    const metadata = { name: 'operator' };
    const subject = { apiGroup: 'rbac.authorization.k8s.io', kind: 'User', name: operator.name };
    await grantRules(cp(), metadata.name, subject, []);
    const inNamespace = `${RBAC}/namespaces/${NAMESPACE}`;
    await create(`${inNamespace}/roles`, { metadata, rules: [] });
    const roleRef = { apiGroup: 'rbac.authorization.k8s.io', kind: 'Role', name: metadata.name };
    await create(`${inNamespace}/rolebindings`, { metadata, subjects: [subject], roleRef });
  });

  describe.each(Object.entries(RUNS))('%s', (command, args) => {
    const { inCluster = [], inNamespace = [] }: CommandRights = COMMAND_RIGHTS[command as keyof typeof COMMAND_RIGHTS];

    /** Every run that has all rights gives the same: the first test would fail otherwise. */
    let whole: Awaited<ReturnType<typeof run>>;
    beforeAll(async () => {
      whole = await run(admin, args);
    });

    it('are all that it needs', async () => {
      await grant({ inCluster, inNamespace });
      expect(await run(operator, args)).toEqual(whole);
    });

    const without = (rules: readonly RoleRule[], rule: RoleRule) => rules.filter((one) => one !== rule);
    it.each([...inCluster, ...inNamespace].map((rule) => ({ rule, what: `${rule.verbs} ${rule.resources}` })))(
      'needs $what',
      async ({ rule }) => {
        await grant({ inCluster: without(inCluster, rule), inNamespace: without(inNamespace, rule) });
        expect(await run(operator, args)).not.toEqual(whole);
      },
    );
  });
});
