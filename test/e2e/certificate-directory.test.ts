import { writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { afterAll, beforeAll, expect, it } from 'vitest';
import { issueCa, issueServing } from '../../src/certs/issue.ts';
import { describeWithControlPlane } from '../control-plane/describe-with-control-plane.ts';
import { NAMESPACE, SERVICE } from '../control-plane/replicas.ts';
import { admin } from '../control-plane/users.ts';
import { waitUntil } from '../control-plane/wait-until.ts';
import { temporaryDirectory } from '../unit/temporary-directory.ts';
import { base64, certificateData } from './certificate-data.ts';
import {
  CERTIFICATES,
  caBundles,
  type Installation,
  install,
  readCertificates,
  registerControlPlaneNode,
  waitUntilProtected,
} from './installation.ts';

describeWithControlPlane('a replica with --cert-dir', {}, (cp) => {
  let installation: Installation;
  beforeAll(async () => {
    installation = await install(cp());
    await registerControlPlaneNode(cp(), 'cp-1');
    // As an installation without --cert-dir has left it.
    const secrets = CERTIFICATES.slice(0, CERTIFICATES.lastIndexOf('/'));
    const body = {
      metadata: { name: 'taintkeeper-certs' },
      type: 'kubernetes.io/tls',
      data: await certificateData(),
    };
    expect((await cp().request(admin, 'POST', secrets, { body })).status).toBe(201);
  });
  afterAll(() => installation?.stop());

  it('serves what is there, and puts its CA into every caBundle, also when it is replaced', async () => {
    const directory = temporaryDirectory();
    const put = async () => {
      const ca = await issueCa(new Date());
      const serving = await issueServing(ca, [`${SERVICE}.${NAMESPACE}.svc`], new Date());
      writeFileSync(join(directory, 'tls.key'), serving.key);
      writeFileSync(join(directory, 'tls.crt'), serving.cert);
      writeFileSync(join(directory, 'ca.crt'), ca.cert);
      return base64(ca.cert);
    };
    const everyBundleIs = (bundle: string) =>
      waitUntil(async () => ((await caBundles(cp())).every((found) => found === bundle) ? true : undefined), {
        // Trusted for 10 s, it is served; 5 s after that the one before it leaves; and the files are polled.
        timeoutMs: 30_000,
        otherwise: () => 'the bundles are not the CA of the directory',
      });
    const secret = await readCertificates(cp());

    const first = await put();
    await installation.start(['a'], { args: ['--cert-dir', directory], caOverlapSeconds: 5 });
    await everyBundleIs(first);
    await waitUntilProtected(cp(), 'cp-1');
    await everyBundleIs(await put());
    await waitUntilProtected(cp(), 'cp-1');
    expect(await readCertificates(cp())).toEqual(secret);
  });
});
