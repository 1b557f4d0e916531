import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { beforeAll, describe, expect, it } from 'vitest';
import { describeWithControlPlane } from '../control-plane/describe-with-control-plane.ts';
import { admin } from '../control-plane/users.ts';
import { runAs } from './run-taintkeeper.ts';

const CRDS = join(import.meta.dirname, '..', '..', 'manifests', 'chart', 'files', 'crds');
const CRD = join(CRDS, 'taintpolicies.taintkeeper.dev.yaml');
const POLICY = {
  apiVersion: 'taintkeeper.dev/v1alpha1',
  kind: 'TaintPolicy',
  metadata: { name: 'gpu-pool' },
  spec: {
    mode: 'Audit',
    nodeSelector: { matchLabels: { pool: 'gpu' } },
    taints: [{ key: 'gpu', value: 'true', effect: 'NoSchedule', ensure: 'Always' }],
  },
};

describeWithControlPlane('taintkeeper explain', {}, (cp) => {
  const explain = (...args: string[]) => runAs(admin, cp(), ['explain', ...args]);
  const kubectl = async (args: readonly string[], input?: string) => {
    const { code, stderr } = await cp().kubectl(args, input === undefined ? {} : { input });
    expect(code, stderr).toBe(0);
  };

  beforeAll(async () => {
    for (const [name, pool] of [
      ['gpu-7', 'gpu'],
      ['cpu-1', 'cpu'],
    ]) {
      const body = { metadata: { name, labels: { pool } } };
      await cp().request(admin, 'POST', '/api/v1/nodes', { body });
    }
  });

  it('says so where taintkeeper is not installed, and where there is no such node', async () => {
    expect(await explain('node', 'gpu-7')).toMatchObject({
      code: 2,
      stderr: 'taintkeeper: the cluster has no TaintPolicies: taintkeeper is not installed there\n',
    });
    await kubectl(['apply', '-f', '-'], readFileSync(CRD, 'utf8'));
    await kubectl(['wait', '--for=condition=Established', 'crd/taintpolicies.taintkeeper.dev']);
    await kubectl(['apply', '-f', '-'], JSON.stringify(POLICY));
    expect(await explain('node', 'gpu-8')).toMatchObject({ code: 2, stderr: 'taintkeeper: node gpu-8: not found\n' });
    expect(await explain('pod', 'x')).toMatchObject({ code: 2 });
  });

  it('names the missing taint, the policy that requires it, and the command that sets it, which does', async () => {
    const { code, stdout } = await explain('node', 'gpu-7');
    expect(code).toBe(1);
    expect(stdout).toMatch(/^gpu=true:NoSchedule +missing +required by gpu-pool \(Audit, spec\.taints\[0\]\)/m);
    expect(stdout).toMatch(/^gpu-pool +Audit +is selected$/m);
    const [, command = ''] = /^next: kubectl (.*)$/m.exec(stdout) ?? [];
    await kubectl(command.split(' '));

    const after = await explain('node', 'gpu-7');
    expect(after.code).toBe(0);
    expect(after.stdout).toMatch(
      /^gpu=true:NoSchedule +audited +not protected; its removal is only reported, by gpu-pool/m,
    );
    expect(after.stdout).toContain('spec.taints is owned by field manager "kubectl');
    expect(after.stdout).toContain('next: nothing: no required taint is missing');
  });

  it('says why a policy is not for a node', async () => {
    const { code, stdout } = await explain('node', 'cpu-1');
    expect(code).toBe(0);
    expect(stdout).toMatch(/^gpu-pool +Audit +is not selected: needs pool=gpu$/m);
  });

  it('tells programs the same', async () => {
    const { stdout } = await explain('node', 'cpu-1', '-o', 'json');
    expect(JSON.parse(stdout)).toMatchObject({
      name: 'cpu-1',
      // Of the API server's own, for a node that has no kubelet.
      taints: [{ taint: 'node.kubernetes.io/not-ready:NoSchedule', state: 'free', by: [] }],
      policies: [{ policy: 'gpu-pool', mode: 'Audit', unmet: ['pool=gpu'] }],
      next: 'nothing: no required taint is missing',
    });
  });

  it('shows what taintkeeper told of the node', async () => {
    const event = {
      metadata: { name: 'gpu-7.1', namespace: 'default' },
      eventTime: '2026-01-02T03:04:05.000000Z',
      reportingController: 'taintkeeper.dev/taintkeeper',
      reportingInstance: 'taintkeeper-1',
      action: 'Deny',
      reason: 'TaintRemovalDenied',
      note: 'denied gpu=true:NoSchedule',
      type: 'Warning',
      regarding: { kind: 'Node', name: 'gpu-7' },
    };
    const { status } = await cp().request(admin, 'POST', '/apis/events.k8s.io/v1/namespaces/default/events', {
      body: event,
    });
    expect(status).toBe(201);
    const { stdout } = await explain('node', 'gpu-7');
    expect(stdout).toMatch(/TaintRemovalDenied +denied gpu=true:NoSchedule$/m);
  });

  describe('of daemons', () => {
    const EDGE = { key: 'edge', operator: 'Exists', effect: 'NoSchedule' };
    const TOLERATION_POLICY = {
      apiVersion: 'taintkeeper.dev/v1alpha1',
      kind: 'TolerationPolicy',
      metadata: { name: 'edge-agents' },
      spec: { mode: 'Mutate', daemonSets: { namespaces: ['agents'] }, tolerations: [EDGE] },
    };
    const labels = { app: 'agent' };
    const podSpec = { containers: [{ name: 'a', image: 'example.com/a:1' }] };

    beforeAll(async () => {
      await kubectl(['apply', '-f', CRDS]);
      for (const name of ['tolerationpolicies', 'recoverypolicies'])
        await kubectl(['wait', '--for=condition=Established', `crd/${name}.taintkeeper.dev`]);
      await kubectl(['apply', '-f', '-'], JSON.stringify(TOLERATION_POLICY));
      const taints = [{ key: 'edge', effect: 'NoSchedule' }];
      await cp().request(admin, 'POST', '/api/v1/nodes', { body: { metadata: { name: 'edge-1' }, spec: { taints } } });
      await kubectl(['create', 'namespace', 'agents']);
      // There is no controller manager that would make it, and without it no pod is admitted.
      await kubectl(['create', 'serviceaccount', 'default', '-n', 'agents']);
      const spec = { selector: { matchLabels: labels }, template: { metadata: { labels }, spec: podSpec } };
      const manifest = {
        apiVersion: 'apps/v1',
        kind: 'DaemonSet',
        metadata: { namespace: 'agents', name: 'agent' },
        spec,
      };
      await kubectl(['apply', '-f', '-'], JSON.stringify(manifest));
    });

    it('names what is missing, the nodes that it does not reach, who wrote the template, and what to do', async () => {
      const { code, stdout, stderr } = await explain('daemonset', 'agents/agent');
      expect(code, stderr).toBe(1);
      expect(stdout).toMatch(/^edge:NoSchedule +missing +required by edge-agents \(Mutate, spec\.tolerations\[0\]\)$/m);
      expect(stdout).toMatch(/^it was last written by field manager "kubectl/m);
      expect(stdout).toMatch(/^TolerationPolicy edge-agents +Mutate +is selected$/m);
      expect(stdout).toMatch(/^1 +edge-1 +no +taint edge:NoSchedule/m);
      expect(stdout).toMatch(/^next: kubectl rollout restart -n agents daemonset agent$/m);
    });

    it('of a pod: its own tolerations, and the DaemonSet where they come from', async () => {
      const { body } = await cp().request<{ metadata: { uid: string } }>(
        admin,
        'GET',
        '/apis/apps/v1/namespaces/agents/daemonsets/agent',
      );
      const owner = {
        apiVersion: 'apps/v1',
        kind: 'DaemonSet',
        name: 'agent',
        uid: body.metadata.uid,
        controller: true,
      };
      const metadata = { name: 'agent-1', labels, ownerReferences: [owner] };
      const created = await cp().request(admin, 'POST', '/api/v1/namespaces/agents/pods', {
        body: { metadata, spec: { ...podSpec, nodeName: 'edge-1' } },
      });
      expect(created.status).toBe(201);
      const { code, stdout } = await explain('pod', 'agents/agent-1');
      expect(code).toBe(1);
      expect(stdout).toMatch(/^it is scheduled on node edge-1$/m);
      expect(stdout).toMatch(/^it is managed by DaemonSet agent$/m);
      expect(stdout).toMatch(/^1 +edge-1 +no +taint edge:NoSchedule/m);
      expect(stdout).toMatch(/^next: taintkeeper explain daemonset agents\/agent$/m);
    });

    it('with the toleration in its template, nothing is left of it', async () => {
      const patch = [{ op: 'add', path: '/spec/template/spec/tolerations', value: [EDGE] }];
      await kubectl(['patch', '-n', 'agents', 'daemonset', 'agent', '--type=json', '-p', JSON.stringify(patch)]);
      const { stdout } = await explain('daemonset', 'agents/agent', '-o', 'json');
      const found = JSON.parse(stdout);
      expect(found).toMatchObject({
        tolerations: [{ toleration: 'edge:NoSchedule', state: 'required' }],
        policies: [{ kind: 'TolerationPolicy', policy: 'edge-agents', unmet: [] }],
      });
      // The API server's own taint of a node without a kubelet comes and goes; another policy's stays.
      expect(found.gaps).not.toContain('edge:NoSchedule');
    });

    it('names the pods of a Deployment, of which it can explain one: those first that are not scheduled', async () => {
      const shop = { app: 'shop' };
      const template = { metadata: { labels: shop }, spec: podSpec };
      const manifest = {
        apiVersion: 'apps/v1',
        kind: 'Deployment',
        metadata: { namespace: 'agents', name: 'shop' },
        spec: { selector: { matchLabels: shop }, template },
      };
      await kubectl(['apply', '-f', '-'], JSON.stringify(manifest));
      expect(await explain('deployment', 'agents/shop')).toMatchObject({
        code: 2,
        stderr:
          'taintkeeper: explain deployment agents/shop: no policy is about a deployment, and it has no pods to explain; see kubectl describe -n agents deployment shop\n',
      });
      for (const [name, nodeName] of [
        ['shop-1', 'edge-1'],
        ['shop-2', undefined],
      ]) {
        const { status } = await cp().request(admin, 'POST', '/api/v1/namespaces/agents/pods', {
          body: { metadata: { name, labels: shop }, spec: { ...podSpec, ...(nodeName ? { nodeName } : {}) } },
        });
        expect(status).toBe(201);
      }
      expect(await explain('deployment', 'agents/shop')).toMatchObject({
        code: 2,
        stderr:
          'taintkeeper: explain deployment agents/shop: no policy is about a deployment; explain one of its pods: ' +
          'taintkeeper explain pod agents/shop-2; the others: agents/shop-1\n',
      });
    });

    it.each([
      { kind: 'deployment', name: 'agents/none', fault: 'deployment agents/none: not found' },
      { kind: 'daemonset', name: 'agents/none', fault: 'daemonset agents/none: not found' },
      { kind: 'pod', name: 'agents/none', fault: 'pod agents/none: not found' },
      { kind: 'daemonset', name: 'agent', fault: 'explain daemonset agent: expected NAMESPACE/NAME' },
    ])('$fault', async ({ kind, name, fault }) => {
      expect(await explain(kind, name)).toMatchObject({ code: 2, stderr: `taintkeeper: ${fault}\n` });
    });
  });
});
