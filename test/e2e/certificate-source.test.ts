import { mkdirSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { afterAll, beforeAll, expect, it } from 'vitest';
import { issueCa, issueServing } from '../../src/certs/issue.ts';
import { describeWithControlPlane } from '../control-plane/describe-with-control-plane.ts';
import { NAMESPACE, SERVICE } from '../control-plane/replicas.ts';
import { waitUntil } from '../control-plane/wait-until.ts';
import { createWorkspace } from '../control-plane/workspace.ts';
import { startAdmissionStream } from './admission-stream.ts';
import { caBundles, type Installation, install, registerControlPlaneNode, waitUntilProtected } from './installation.ts';

/** Longer than two rollouts. */
const OVERLAP_SECONDS = 120;
const REPLACED_TIMEOUT_MS = 60_000;
const TEST_TIMEOUT_MS = 180_000;

describeWithControlPlane('replicas with certificates of another source', {}, (cp) => {
  const workspace = createWorkspace('certificate-source');
  let installation: Installation;
  beforeAll(async () => {
    installation = await install(cp());
    await installation.start(['secret-1', 'secret-2'], options([]));
    await registerControlPlaneNode(cp(), 'cp-1');
    await waitUntilProtected(cp(), 'cp-1');
    await installation.proxy.waitForReady('secret-1', 'secret-2');
  });
  afterAll(async () => {
    await installation?.stop();
    workspace.remove();
  });

  /** A Secret of another issuer, as a volume. */
  async function directory(name: string): Promise<string[]> {
    const path = workspace.path(name);
    mkdirSync(path);
    const ca = await issueCa(new Date());
    const { cert, key } = await issueServing(ca, [`${SERVICE}.${NAMESPACE}.svc`], new Date());
    for (const [file, text] of Object.entries({ 'tls.crt': cert, 'tls.key': key, 'ca.crt': ca.cert })) {
      writeFileSync(join(path, file), text);
    }
    return ['--cert-dir', path];
  }

  function options(args: readonly string[]) {
    return { args, caOverlapSeconds: OVERLAP_SECONDS };
  }

  /** As a Deployment with `maxUnavailable: 0` replaces its pods: an old one is ended when a new one is ready. */
  async function replaceAll(name: string, args: readonly string[]): Promise<void> {
    const olds = [...installation.replicas.keys()];
    for (const [index, old] of olds.entries()) {
      const next = `${name}-${index + 1}`;
      await installation.start([next], options(args));
      await waitUntil(() => installation.proxy.ready().includes(next) || undefined, {
        timeoutMs: REPLACED_TIMEOUT_MS,
        otherwise: () => `${next} is not ready: ${JSON.stringify(installation.replica(next).logs().slice(-5))}`,
      });
      // The other one finds the CA of the first.
      if (index === 0)
        expect(JSON.stringify(installation.replica(next).logs())).toContain('added the CA of this replica');
      installation.proxy.remove(old);
      await installation.replica(old).stop();
      installation.replicas.delete(old);
    }
  }

  const replace = (name: string, fromFiles: boolean) => async () => {
    const args = fromFiles ? await directory(name) : [];
    const stream = startAdmissionStream(cp(), 'cp-1');
    await replaceAll(name, args);
    await stream.stop();
    const { passed, failed, refused } = stream.take();
    // Others fail because this machine is slow, or an old replica ends.
    const distrusted = failed.filter(({ message }) => message.includes('x509'));
    expect({ passed, distrusted }).toEqual({ passed: 0, distrusted: [] });
    expect(refused).toBeGreaterThan(0);
  };

  it(
    'replace the others, and the API server trusts all of them: from the own Secret to files',
    replace('files', true),
    TEST_TIMEOUT_MS,
  );
  it('replace these: from files to those of another CA', replace('others', true), TEST_TIMEOUT_MS);

  it(
    'leave no CA of the earlier sources in a caBundle in the end',
    async () => {
      const text = (base64 = '') => Buffer.from(base64, 'base64').toString();
      const counts = async () =>
        (await caBundles(cp())).map((bundle) => text(bundle).match(/BEGIN CERTIFICATE/g)?.length ?? 0);
      expect(await counts()).not.toEqual((await counts()).map(() => 1));
      let last: number[] = [];
      await waitUntil(
        async () => {
          last = await counts();
          return last.every((count) => count === 1) || undefined;
        },
        { timeoutMs: (OVERLAP_SECONDS + 30) * 1_000, otherwise: () => `CAs in the caBundles: ${last}` },
      );
      await waitUntilProtected(cp(), 'cp-1');
    },
    TEST_TIMEOUT_MS + 60_000,
  );

  // Only now, as the CA of the Secret was still registered before.
  it('replace those: from files to the own Secret', replace('own', false), TEST_TIMEOUT_MS);
});
