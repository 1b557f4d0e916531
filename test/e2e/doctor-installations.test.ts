import { beforeAll, describe, expect, it } from 'vitest';
import type { Diagnosis } from '../../src/doctor/diagnosis.ts';
import type { ControlPlane } from '../control-plane/control-plane.ts';
import { describeWithControlPlane } from '../control-plane/describe-with-control-plane.ts';
import { admin } from '../control-plane/users.ts';
import { pasteRemedy } from './paste-remedy.ts';
import { runAs } from './run-taintkeeper.ts';

const MANIFEST = new URL('../../manifests/install.yaml', import.meta.url).pathname;
const POLICIES = new URL('../../manifests/policies', import.meta.url).pathname;
const LOCKED_OUT = 'clusterrole,mutatingwebhookconfiguration,validatingwebhookconfiguration';

describeWithControlPlane('doctor looks for taintkeeper:', {}, (cp: () => ControlPlane) => {
  async function doctor(...args: string[]): Promise<{ code: number; stdout: string }> {
    const { code, stdout, stderr } = await runAs(admin, cp(), ['doctor', ...args]);
    expect(stderr).toBe('');
    return { code, stdout };
  }

  async function diagnosis(...args: string[]): Promise<Diagnosis> {
    return JSON.parse((await doctor('-o', 'json', ...args)).stdout);
  }

  const installation = ({ checks }: Diagnosis) => checks.find(({ area }) => area === 'installation');

  it('nothing is installed, and nothing else is blamed', async () => {
    const { code, stdout } = await doctor();
    expect(stdout).toBe(
      'installation: taintkeeper is not installed in this cluster: there is no Deployment or Service of it, and no webhook\n' +
        '  -> with Helm: helm install taintkeeper CHART --namespace taintkeeper --create-namespace; without Helm: kubectl apply -f install.yaml\n',
    );
    expect(code).toBe(1);
    const { result, checks } = await diagnosis('--namespace', 'elsewhere');
    expect(result).toBe('installation');
    expect(checks.map(({ name }) => name)).toEqual(['installation']);
    await pasteRemedy(cp(), checks[0]?.remedy);
  });

  describe('installed', () => {
    beforeAll(async () => {
      for (const file of [MANIFEST, POLICIES]) {
        const { code, stderr } = await cp().kubectl(['apply', '-f', file]);
        expect(code, stderr).toBe(0);
      }
    });

    it('it is found without a namespace, and no certificate is blamed that no replica could issue', async () => {
      const found = await diagnosis();
      expect(installation(found)).toMatchObject({ state: 'ok', evidence: 'Deployment taintkeeper/taintkeeper' });
      expect(found.result, found.summary).toBe('network');
      expect(found.checks.filter(({ state }) => state === 'problem').map(({ name }) => name)).toEqual(['replicas']);
    });

    it('a wrong namespace is called that, and the remedy leads there', async () => {
      const { code, stdout } = await doctor('--namespace', 'kube-system');
      expect(stdout).toBe(
        'installation: taintkeeper is not installed in namespace kube-system: it is Deployment taintkeeper/taintkeeper\n' +
          '  -> taintkeeper doctor --namespace taintkeeper\n',
      );
      expect(code).toBe(1);
      expect(installation(await diagnosis('--namespace', 'taintkeeper'))).toMatchObject({ state: 'ok' });
    });

    it('doctor reports that webhooks are missing after a locked-out user has deleted them', async () => {
      await cp().kubectl(['delete', '--ignore-not-found', LOCKED_OUT, 'taintkeeper']);
      const { checks } = await diagnosis();
      expect(checks.find(({ name }) => name === 'registration')).toMatchObject({
        state: 'skipped',
        evidence: expect.stringMatching(/^no webhook is registered, though policies need one: see /),
      });
      expect(checks.find(({ name }) => name === 'rights')).toMatchObject({ state: 'problem' });
    });

    it('a Deployment with the label is no installation until the ClusterRoleBinding names its namespace', async () => {
      await cp().kubectl(['create', 'namespace', 'second']);
      const path = (namespace: string) => `/apis/apps/v1/namespaces/${namespace}/deployments`;
      const { metadata, spec } = (
        await cp().request<{ metadata: { labels: object }; spec: object }>(
          admin,
          'GET',
          `${path('taintkeeper')}/taintkeeper`,
        )
      ).body;
      const body = { metadata: { name: 'taintkeeper', labels: metadata.labels }, spec };
      expect((await cp().request(admin, 'POST', path('second'), { body })).status).toBe(201);
      expect(installation(await diagnosis())).toMatchObject({
        state: 'note',
        evidence: expect.stringMatching(
          /^Deployment taintkeeper\/taintkeeper\. Deployment second\/taintkeeper has the label /,
        ),
      });
      const subject = { kind: 'ServiceAccount', namespace: 'second', name: 'taintkeeper' };
      const patch = JSON.stringify([{ op: 'add', path: '/subjects/-', value: subject }]);
      const bind = ['patch', 'clusterrolebinding', 'taintkeeper', '--type=json', '-p', patch];
      expect(await cp().kubectl(bind)).toMatchObject({ code: 0 });
      const found = await diagnosis('--namespace', 'taintkeeper');
      expect(found.result).toBe('installation');
      expect(installation(found)?.evidence).toContain(
        '2 times: Deployment taintkeeper/taintkeeper and Deployment second/taintkeeper.',
      );
      await cp().kubectl(['delete', 'namespace', 'second', '--wait=false']);
      await cp().kubectl(['delete', 'deployment', '-n', 'second', 'taintkeeper']);
      expect(installation(await diagnosis())).toMatchObject({
        state: 'ok',
        evidence: 'Deployment taintkeeper/taintkeeper',
      });
    });

    it('what is left of one is told apart from none', async () => {
      const webhook = {
        name: 'protect.taintkeeper.dev',
        clientConfig: { service: { namespace: 'taintkeeper', name: 'taintkeeper' } },
        sideEffects: 'None',
        admissionReviewVersions: ['v1'],
      };
      const path = '/apis/admissionregistration.k8s.io/v1/validatingwebhookconfigurations';
      const body = { metadata: { name: 'taintkeeper' }, webhooks: [webhook] };
      expect((await cp().request(admin, 'POST', path, { body })).status).toBe(201);
      await cp().kubectl(['delete', 'deployment,service', '-n', 'taintkeeper', 'taintkeeper']);
      const { result, summary, checks } = await diagnosis();
      expect({ result, summary }).toMatchObject({
        result: 'network',
        summary: expect.stringMatching(
          /^Service taintkeeper\/taintkeeper not found, and webhooks that call it are registered/,
        ),
      });
      const remedy = checks.find(({ name }) => name === 'Service')?.remedy;
      await pasteRemedy(cp(), remedy?.split('; or ')[0]);
      await pasteRemedy(cp(), remedy?.split('; or ')[1]);
      expect((await diagnosis()).checks.find(({ name }) => name === 'Service')).toMatchObject({ state: 'ok' });
    });
  });
});
