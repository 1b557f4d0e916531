import { afterAll, describe, expect, it } from 'vitest';
import type { ControlPlaneOptions } from '../control-plane/control-plane.ts';
import { describeWithControlPlane } from '../control-plane/describe-with-control-plane.ts';
import { testedMinor } from '../control-plane/kubernetes.ts';
import { admin } from '../control-plane/users.ts';
import { createWorkspace } from '../control-plane/workspace.ts';
import { skipFor } from '../skip-for.ts';
import { PROTECTION, seeProtection } from './native-protection.ts';
import { obstacleToMutation } from './native-rig.ts';
import { runOffline } from './run-taintkeeper.ts';

const workspace = createWorkspace('static');
const MUTATING = `
  - name: MutatingAdmissionPolicy
    configuration:
      apiVersion: apiserver.config.k8s.io/v1
      kind: MutatingAdmissionPolicyConfiguration
      staticManifestsDir: ${workspace.path('manifests/mutating')}
`;
const options: ControlPlaneOptions = {
  apiServerArgs: [
    '--feature-gates=ManifestBasedAdmissionControlConfig=true',
    `--admission-control-config-file=${workspace.write(
      'admission.yaml',
      `
apiVersion: apiserver.config.k8s.io/v1
kind: AdmissionConfiguration
plugins:
  - name: ValidatingAdmissionPolicy
    configuration:
      apiVersion: apiserver.config.k8s.io/v1
      kind: ValidatingAdmissionPolicyConfiguration
      staticManifestsDir: ${workspace.path('manifests/validating')}
${obstacleToMutation ? '' : MUTATING}`,
    )}`,
  ],
};
const exported = await runOffline([
  ...['export', '--kubernetes', `1.${testedMinor()}`, '--policies', workspace.write('policies.yaml', PROTECTION)],
  ...['--as', 'static-manifests', '--directory', workspace.path('manifests')],
]);

afterAll(() => workspace.remove());

describe('static manifests', skipFor(testedMinor() < 36 ? 'Kubernetes has them since 1.36' : undefined), () => {
  describeWithControlPlane('that taintkeeper export writes', options, (cp) => {
    it('hold with nothing in the cluster', async () => {
      expect(exported.code, exported.stderr).toBe(0);
      await seeProtection(cp(), { mutates: !obstacleToMutation });
      for (const resource of ['validatingadmissionpolicies', 'mutatingadmissionpolicies']) {
        const path = `/apis/admissionregistration.k8s.io/v1/${resource}`;
        const { body } = await cp().request<{ items: object[] }>(admin, 'GET', path);
        expect(body.items, resource).toEqual([]);
      }
    });
  });
});
