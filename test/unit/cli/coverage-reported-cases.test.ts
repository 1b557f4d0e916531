import { describe, expect, it } from 'vitest';
import { parseAllDocuments } from 'yaml';
import { daemonSetObject, nodeObject } from '../reviews.ts';
import { temporaryFile } from '../temporary-directory.ts';
import { run } from './run-command.ts';

/** Cases that users of other projects reported, with their manifests reduced to what decides. */

const file = (...objects: object[]) =>
  temporaryFile('input.yaml', objects.map((object) => JSON.stringify(object)).join('\n---\n'));
const node = (name: string, taints: object[] = [], labels: object = {}) => nodeObject(taints, { name, labels });
const daemonSet = (namespace: string, name: string, podSpec: object, metadata: object = {}) => ({
  ...daemonSetObject([], { namespace, name, ...metadata }),
  spec: { template: { spec: podSpec } },
});

describe('virtual nodes (aws/amazon-cloudwatch-agent-operator#183)', () => {
  const fargate = node(
    'fargate-ip-10-0-1-7',
    [{ key: 'eks.amazonaws.com/compute-type', value: 'fargate', effect: 'NoSchedule' }],
    { 'eks.amazonaws.com/compute-type': 'fargate' },
  );
  const aci = node('virtual-node-aci', [{ key: 'virtual-kubelet.io/provider', value: 'azure', effect: 'NoSchedule' }], {
    type: 'virtual-kubelet',
  });
  const worker = node('ip-10-0-1-4');
  /** The chart's default after aws-observability/helm-charts#41, and its affinity after #58. */
  const everywhere = { tolerations: [{ operator: 'Exists' }] };
  const notOnFargate = {
    nodeAffinity: {
      requiredDuringSchedulingIgnoredDuringExecution: {
        nodeSelectorTerms: [
          { matchExpressions: [{ key: 'eks.amazonaws.com/compute-type', operator: 'NotIn', values: ['fargate'] }] },
        ],
      },
    },
  };

  it('are no gaps', async () => {
    const { code, stdout } = await run(
      'coverage',
      file(worker, fargate, aci, daemonSet('amazon-cloudwatch', 'cloudwatch-agent', {})),
    );
    expect(stdout).toMatch(/^amazon-cloudwatch\/cloudwatch-agent {2}virtual {2}runs {2}virtual$/m);
    expect(stdout).toMatch(/^no gaps/m);
    expect(code).toBe(0);
  });

  it('get no toleration, whatever --taint names', async () => {
    const { stdout } = await run(
      ...['coverage', 'fix', '--taint', '*'],
      file(
        worker,
        fargate,
        aci,
        node('gpu', [{ key: 'dedicated', value: 'gpu', effect: 'NoSchedule' }]),
        daemonSet('amazon-cloudwatch', 'cloudwatch-agent', {}),
      ),
    );
    const tolerations = parseAllDocuments(stdout).flatMap(
      (document) => (document.toJS() as { spec: { tolerations: { key: string }[] } } | null)?.spec.tolerations ?? [],
    );
    expect(tolerations.map(({ key }) => key)).toEqual(['dedicated']);
    expect(stdout).toContain('# Virtual nodes are left out, because they run no DaemonSets: 2 nodes.\n');
  });

  it('are named where a DaemonSet tolerates their taints, with the affinity that leaves them out', async () => {
    const { stdout } = await run(
      'coverage',
      file(worker, fargate, aci, daemonSet('amazon-cloudwatch', 'cloudwatch-agent', everywhere)),
    );
    expect(stdout).toMatch(/^amazon-cloudwatch\/cloudwatch-agent {2}pending {2}runs {2}pending$/m);
    expect(stdout).toMatch(/^Pending for good on virtual nodes, which run no DaemonSets:$/m);
    expect(stdout).toMatch(
      /fargate-ip-10-0-1-7 +require by node affinity: eks\.amazonaws\.com\/compute-type NotIn \[fargate\]$/m,
    );
    expect(stdout).toMatch(/virtual-node-aci +require by node affinity: type NotIn \[virtual-kubelet\]$/m);
  });

  it('are excluded by the affinity of the chart', async () => {
    const podSpec = { ...everywhere, affinity: notOnFargate };
    const { stdout } = await run(
      'coverage',
      file(worker, fargate, daemonSet('amazon-cloudwatch', 'cloudwatch-agent', podSpec)),
    );
    expect(stdout).not.toContain('Pending for good');
  });
});

describe('tolerations with Gt and Lt (KEP-5471, alpha)', () => {
  const sla = { key: 'node.example.com/sla', value: '950', effect: 'NoSchedule' };
  const above900 = { key: sla.key, operator: 'Gt', value: '900', effect: 'NoSchedule' };

  it('are unknown, and no gap', async () => {
    const { code, stdout } = await run(
      'coverage',
      file(node('w'), node('spot', [sla]), daemonSet('agents', 'agent', { tolerations: [above900] })),
    );
    expect(stdout).toMatch(/^agents\/agent {2}unknown {2}runs$/m);
    expect(stdout).toMatch(
      /^agents\/agent +1 +spot +taint node\.example\.com\/sla=950:NoSchedule may be tolerated by node\.example\.com\/sla=900:NoSchedule \(Gt\)$/m,
    );
    expect(stdout).toMatch(/^no gaps/m);
    expect(code).toBe(0);
  });

  it('say nothing of other taints', async () => {
    const gpu = { key: 'dedicated', value: 'gpu', effect: 'NoSchedule' };
    const { code, stdout } = await run(
      'coverage',
      file(node('g', [gpu]), daemonSet('agents', 'agent', { tolerations: [above900] })),
    );
    expect(stdout).toMatch(/^agents\/agent {2}taint$/m);
    expect(code).toBe(1);
  });
});

describe('daemons on which other pods depend (Mellanox/network-operator#2960)', () => {
  /** manifests/state-container-networking-plugins of that repository, before its #3222. */
  const cniPlugins = (more: object = {}, mount: object = {}) =>
    daemonSet('nvidia-network-operator', 'cni-plugins-ds', {
      hostNetwork: true,
      containers: [
        { name: 'cni-plugins', volumeMounts: [{ name: 'cnibin', mountPath: '/host/opt/cni/bin', ...mount }] },
      ],
      volumes: [{ name: 'cnibin', hostPath: { path: '/opt/cni/bin' } }],
      ...more,
    });
  const TITLE = 'Other pods depend on these, and they have no priority class:';

  it('are named without a priority class, with the command that sets one', async () => {
    const { code, stdout } = await run('coverage', file(node('w'), cniPlugins()));
    expect(stdout).toContain(TITLE);
    expect(stdout).toContain(
      'nvidia-network-operator/cni-plugins-ds  it writes to /opt/cni/bin  kubectl patch -n nvidia-network-operator daemonset cni-plugins-ds ' +
        `-p '{"spec":{"template":{"spec":{"priorityClassName":"system-node-critical"}}}}'\n`,
    );
    expect(code).toBe(0);
  });

  it.each([
    { why: 'with a priority class', object: cniPlugins({ priorityClassName: 'system-node-critical' }) },
    { why: 'that only read', object: cniPlugins({}, { readOnly: true }) },
    { why: 'of another kind', object: cniPlugins({ volumes: [{ name: 'cnibin', hostPath: { path: '/var/log' } }] }) },
  ])('are not named: $why', async ({ object }) => {
    expect((await run('coverage', file(node('w'), object))).stdout).not.toContain(TITLE);
  });
});

describe('permanent taints in the domain of a program (terraform-aws-modules/terraform-aws-eks#3067)', () => {
  it.each(['karpenter.sh/controller', 'karpenter.sh/capacity-type', 'node.kubernetes.io/instance-type'])(
    '%s is a gap, and coverage fix closes it',
    async (key) => {
      const input = file(
        node('mng-1', [{ key, value: 'a', effect: 'NoSchedule' }]),
        daemonSet('kube-system', 'csi-node', {
          tolerations: [{ key: 'CriticalAddonsOnly', operator: 'Exists' }],
        }),
      );
      const { code, stdout } = await run('coverage', input);
      expect(code).toBe(1);
      expect(stdout).toMatch(/^1 gap: /m);
      expect(stdout).toContain(`--taint ${key}`);
      expect((await run('coverage', 'fix', '--taint', key, input)).stdout).toContain(`key: ${key}`);
    },
  );
});
