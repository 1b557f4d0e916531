import { join } from 'node:path';
import { cacheFolder, type GoModule, unbuilt } from './go-modules.ts';
import { KUBERNETES } from './kubernetes.ts';
import { whyNotBuilt } from './not-built.ts';

/** Kubernetes' own end-to-end tests, and the program of the image that most of their pods run. */
const E2E: GoModule = {
  folder: join(import.meta.dirname, 'conformance'),
  packages: { 'e2e.test': 'k8s.io/kubernetes/test/e2e', agnhost: 'k8s.io/kubernetes/test/images/agnhost' },
  compiledTests: ['e2e.test'],
  files: ['test/images/agnhost/porter/localhost.crt', 'test/images/agnhost/porter/localhost.key'],
  linkerVariables: KUBERNETES.linkerVariables,
};

/** What runs these tests in several processes. */
const GINKGO: GoModule = {
  folder: E2E.folder,
  packages: { ginkgo: 'github.com/onsi/ginkgo/v2/ginkgo' },
  linkerVariables: () => ({}),
};

export const CONFORMANCE = [E2E, GINKGO] as const;

/** The folder of {@link CONFORMANCE} with go.mod. */
export const CONFORMANCE_FOLDER = E2E.folder;

/** Where its programs and files are. */
export function conformanceFile(name: string): string {
  return join(cacheFolder(E2E), name);
}

/** Why these tests cannot run, if so. */
export function obstacleToConformance(): string | undefined {
  const [absent] = CONFORMANCE.flatMap((module) =>
    unbuilt(module).map((program) => whyNotBuilt(module, program, 'npm run test:conformance')),
  );
  return absent;
}
