import { afterAll, beforeAll, expect, it } from 'vitest';
import type { ClusterReport } from '../../src/objects/cluster-report.ts';
import { describeWithControlPlane } from '../control-plane/describe-with-control-plane.ts';
import { NAMESPACE } from '../control-plane/replicas.ts';
import { admin } from '../control-plane/users.ts';
import { waitUntil } from '../control-plane/wait-until.ts';
import { type Installation, install } from './installation.ts';
import { pasteRemedy } from './paste-remedy.ts';
import { policyObject } from './policy-objects.ts';
import { createPolicy } from './policy-resources.ts';
import { CLUSTER_REPORT_DEFINITION } from './report-definition.ts';
import { runTaintkeeper } from './run-taintkeeper.ts';

const REPORTS = '/apis/openreports.io/v1alpha1/clusterreports';
const NODES = 120;
/** The leader looks once a minute whether there are definitions, and writes every half a minute. */
const TIMEOUT_MS = 100_000;
const TEST_TIMEOUT_MS = 2 * TIMEOUT_MS;

type Stored = ClusterReport & { readonly metadata: { readonly resourceVersion: string } };

describeWithControlPlane('reports for auditors', { components: ['kube-controller-manager'] }, (cp) => {
  let installation: Installation;
  beforeAll(async () => {
    installation = await install(cp(), ['writeReports']);
    for (let index = 0; index < NODES; index++) {
      const taints = index < 3 ? [] : [{ key: 'dedicated', value: 'gpu', effect: 'NoSchedule' }];
      const body = { metadata: { name: `n${index}`, labels: { pool: 'gpu' } }, spec: { taints } };
      expect((await cp().request(admin, 'POST', '/api/v1/nodes', { body })).status).toBe(201);
    }
    const template = {
      metadata: { labels: { app: 'cni' } },
      spec: { containers: [{ name: 'cni', image: 'cni.invalid/cni:1' }] },
    };
    const body = { metadata: { name: 'cni' }, spec: { selector: { matchLabels: { app: 'cni' } }, template } };
    const { status } = await cp().request(admin, 'POST', '/apis/apps/v1/namespaces/kube-system/daemonsets', { body });
    expect(status).toBe(201);
    const taints = [{ key: 'dedicated', value: 'gpu', effect: 'NoSchedule', ensure: 'Always' }];
    for (const policy of [
      policyObject('TaintPolicy', 'gpu-pool', { mode: 'Audit', taints }),
      policyObject('TolerationPolicy', 'cni', {
        mode: 'Audit',
        daemonSets: { namespaces: ['kube-system'] },
        tolerations: [{ key: 'dedicated', operator: 'Exists', effect: 'NoSchedule' }],
      }),
    ]) {
      expect((await createPolicy(cp(), policy)).status).toBe(201);
    }
    await installation.start(['a'], { args: ['--write-reports', '--owner-cluster-role', 'taintkeeper'] });
  });
  afterAll(() => installation.stop());

  async function reports(): Promise<Map<string, Stored>> {
    const { body } = await cp().request<{ items?: Stored[] }>(admin, 'GET', REPORTS);
    return new Map((body.items ?? []).map((report) => [report.metadata.name, report]));
  }

  async function waitFor<T>(look: (found: Map<string, Stored>) => T | undefined): Promise<T> {
    let found = new Map<string, Stored>();
    return waitUntil(
      async () => {
        found = await reports();
        return look(found);
      },
      {
        timeoutMs: TIMEOUT_MS,
        otherwise: () =>
          `the reports are ${JSON.stringify([...found.values()].map(({ metadata, summary }) => [metadata, summary]))}`,
      },
    );
  }

  it('are not missed where their definitions are missing, and come with them', {
    timeout: TEST_TIMEOUT_MS,
  }, async () => {
    const said = () =>
      installation
        .replica('a')
        .logs()
        .map(({ msg }) => String(msg))
        .filter((message) => message.startsWith('--write-reports'));
    await expect.poll(said, { timeout: TIMEOUT_MS }).toHaveLength(1);
    expect(said()[0]).toContain('the API server does not serve openreports.io/v1alpha1');

    const input = JSON.stringify(CLUSTER_REPORT_DEFINITION);
    expect(await cp().kubectl(['apply', '-f', '-'], { input })).toMatchObject({ code: 0 });
    const nodes = await waitFor((found) => found.get('taintkeeper-taintpolicy-gpu-pool'));
    expect(nodes.summary).toEqual({ pass: NODES - 3, fail: 3, warn: 0, error: 0, skip: 0 });
    expect(nodes.results).toHaveLength(100);
    expect(nodes.metadata.annotations).toMatchObject({ 'taintkeeper.dev/omitted-results': String(NODES - 100) });
    const { body: node } = await cp().request<{ metadata: { uid: string } }>(admin, 'GET', '/api/v1/nodes/n0');
    expect(nodes.results[0]).toMatchObject({
      ...{ source: 'taintkeeper', policy: 'gpu-pool', result: 'fail', severity: 'medium' },
      resources: [{ kind: 'Node', name: 'n0', uid: node.metadata.uid }],
      message: 'it lacks dedicated=gpu:NoSchedule (spec.taints[0])',
    });
    const daemonSets = await waitFor((found) => found.get('taintkeeper-tolerationpolicy-cni'));
    expect(daemonSets.results).toMatchObject([
      {
        result: 'fail',
        resources: [{ kind: 'DaemonSet', namespace: 'kube-system', name: 'cni', uid: expect.stringMatching(/./) }],
        message: 'it lacks toleration dedicated:NoSchedule (spec.tolerations[0])',
      },
    ]);
    // After all of them.
    await installation.replica('a').waitForLog(({ msg }) => String(msg).includes('ClusterReports are written now'));
    expect(said()).toHaveLength(2);
  });

  it('have nothing in them that the definition does not know', async () => {
    const written = await reports();
    expect(written.size).toBeGreaterThanOrEqual(2);
    for (const { metadata, ...report } of written.values()) {
      const body = { ...report, metadata: { name: `again-${metadata.name}` } };
      const query = '?fieldValidation=Strict&dryRun=All';
      expect(await cp().request(admin, 'POST', REPORTS + query, { body })).toMatchObject({ status: 201 });
    }
  });

  it('do not overwrite a report of another writer, and doctor says so', { timeout: TEST_TIMEOUT_MS }, async () => {
    const name = 'taintkeeper-taintpolicy-gpu-pool';
    const { code } = await cp().kubectl(['label', 'clusterreport', name, 'app.kubernetes.io/managed-by-']);
    expect(code).toBe(0);
    const said = `TaintPolicy gpu-pool has no report: ClusterReport ${name} lacks the label`;
    await expect
      .poll(
        () =>
          installation
            .replica('a')
            .logs()
            .filter(({ msg }) => String(msg).includes(said)),
        { timeout: TIMEOUT_MS },
      )
      .toHaveLength(1);
    // A process stands in for its pods: the Deployment does not know the option yet.
    const patch = '[{"op":"add","path":"/spec/template/spec/containers/0/args/-","value":"--write-reports"}]';
    const patching = ['patch', 'deployment', 'taintkeeper', '--namespace', NAMESPACE, '--type=json', '-p', patch];
    expect(await cp().kubectl(patching)).toMatchObject({ code: 0 });
    const { stdout } = await runTaintkeeper(cp(), ['doctor', '--output', 'json']);
    const { checks } = JSON.parse(stdout) as { checks: { name: string; state: string; remedy?: string }[] };
    const found = checks.filter((check) => check.name === 'reports');
    expect(found).toMatchObject([{ state: 'problem', evidence: expect.stringContaining(said) }]);
    await pasteRemedy(cp(), found[0]?.remedy);
    await waitFor((all) => all.get(name)?.metadata.labels['app.kubernetes.io/managed-by']);
  });

  it('go with their policies, and the others stay as they are', { timeout: TEST_TIMEOUT_MS }, async () => {
    const other = (await reports()).get('taintkeeper-taintpolicy-gpu-pool');
    const { code } = await cp().kubectl(['delete', 'tolerationpolicy', 'cni']);
    expect(code).toBe(0);
    await waitFor((found) => (found.has('taintkeeper-tolerationpolicy-cni') ? undefined : true));
    expect((await reports()).get('taintkeeper-taintpolicy-gpu-pool')).toEqual(other);
  });

  it('go with the installation', { timeout: TEST_TIMEOUT_MS }, async () => {
    expect((await reports()).size).toBeGreaterThan(0);
    expect(await cp().kubectl(['delete', 'clusterrole', 'taintkeeper'])).toMatchObject({ code: 0 });
    await waitFor((found) => (found.size === 0 ? true : undefined));
  });
});
