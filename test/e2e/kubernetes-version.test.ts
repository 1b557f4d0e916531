import { expect, it } from 'vitest';
import { describeWithControlPlane } from '../control-plane/describe-with-control-plane.ts';
import { lockedVersion } from '../control-plane/go-modules.ts';
import { askedVersion, KUBERNETES, otherKubernetes } from '../control-plane/kubernetes.ts';

const asked = askedVersion();

describeWithControlPlane('the Kubernetes that the end-to-end tests run against', {}, (cp) => {
  it(`is the ${asked ?? 'newest'}`, async () => {
    const { gitVersion, minor } = cp().version;
    expect(gitVersion.startsWith(`v1.${minor}.`)).toBe(true);
    if (asked) {
      expect(`1.${minor}`).toBe(asked);
      expect(gitVersion).toBe(lockedVersion(otherKubernetes(asked), 'kube-apiserver'));
    } else if (!process.env.KUBEBUILDER_ASSETS) {
      expect(gitVersion).toBe(lockedVersion(KUBERNETES, 'kube-apiserver'));
    }
  });
});
