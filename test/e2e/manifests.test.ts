import { readFileSync } from 'node:fs';
import { beforeAll, describe, expect, it } from 'vitest';
import { INSTALL, NAMESPACE } from '../../scripts/chart.ts';
import { describeWithControlPlane } from '../control-plane/describe-with-control-plane.ts';
import { admin } from '../control-plane/users.ts';
import { deploymentOf, objectsOf } from './kubernetes-objects.ts';

const objects = objectsOf(readFileSync(INSTALL, 'utf8'));

describeWithControlPlane('manifests/install.yaml, on an empty cluster', {}, (cp) => {
  /** Each object with its version, so that any write to one of them shows. */
  async function versions(): Promise<string[]> {
    const template = '{range .items[*]}{.kind}/{.metadata.name} {.metadata.resourceVersion}{"\\n"}{end}';
    const { stdout, stderr } = await cp().kubectl(['get', '-f', INSTALL, '-o', `jsonpath=${template}`]);
    expect(stderr).toBe('');
    return stdout.trim().split('\n');
  }

  beforeAll(async () => {
    const applied = await cp().kubectl(['apply', '--validate=strict', '-f', INSTALL]);
    expect(applied).toMatchObject({ code: 0, stderr: '' });
    expect(
      applied.stdout
        .trim()
        .split('\n')
        .every((line) => line.endsWith(' created')),
    ).toBe(true);
    const definitions = ['crd/taintpolicies.taintkeeper.dev', 'crd/tolerationpolicies.taintkeeper.dev'];
    expect(await cp().kubectl(['wait', '--for=condition=Established', ...definitions])).toMatchObject({ code: 0 });
  });

  it('is installed by one kubectl apply; a second one writes nothing', async () => {
    const before = await versions();
    expect(before).toHaveLength(objects.length);
    const { stdout } = await cp().kubectl(['apply', '--validate=strict', '-f', INSTALL]);
    const changed = stdout
      .trim()
      .split('\n')
      .filter((line) => !line.endsWith(' unchanged'));
    // kubectl always sends the selector of a PodDisruptionBudget, which is replaced whole, and so says `configured`.
    expect(changed).toEqual(['poddisruptionbudget.policy/taintkeeper configured']);
    expect(await versions()).toEqual(before);
  });

  it('server-side apply takes the objects over without a conflict and without a change', async () => {
    // Not the generation: a Deployment's goes up with its annotations, too.
    const specs = () => cp().kubectl(['get', '-f', INSTALL, '-o', 'jsonpath={.items[*].spec}']);
    const before = await specs();
    const applied = await cp().kubectl(['apply', '--server-side', '--validate=strict', '-f', INSTALL]);
    expect(applied).toMatchObject({ code: 0, stderr: '' });
    expect(await specs()).toEqual(before);
  });

  describe('in a namespace that enforces the Pod Security Standard `restricted`', () => {
    const { metadata, spec } = deploymentOf(objects).deployment.spec.template;
    const create = (changes: object) =>
      cp().request<{ message?: string }>(admin, 'POST', `/api/v1/namespaces/${NAMESPACE}/pods?dryRun=All`, {
        body: { metadata: { ...metadata, generateName: 'taintkeeper-' }, spec: { ...spec, ...changes } },
      });

    it("the Deployment's pods are admitted", async () => {
      expect(await create({})).toMatchObject({ status: 201, warnings: [] });
    });

    it.each([
      { changes: { hostNetwork: true }, complaint: 'host namespaces' },
      { changes: { securityContext: {} }, complaint: 'runAsNonRoot != true' },
    ])('others are not: $changes', async ({ changes, complaint }) => {
      const { status, body } = await create(changes);
      expect([status, body.message]).toEqual([403, expect.stringContaining(complaint)]);
    });
  });

  it('the default policies are ones that the API server takes', async () => {
    const { data } = objects.find(({ kind }) => kind === 'ConfigMap') as unknown as { data: Record<string, string> };
    for (const input of Object.values(data)) {
      const applied = await cp().kubectl(['create', '--dry-run=server', '--validate=strict', '-f', '-'], { input });
      expect(applied).toMatchObject({ code: 0, stderr: '' });
    }
    expect(Object.keys(data)).toEqual(['cni-tolerations.yaml', 'control-plane-taints.yaml']);
  });
});
