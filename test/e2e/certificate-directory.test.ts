import { mkdirSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { afterAll, beforeAll, expect, it } from 'vitest';
import { issueCa, issueServing, type KeyPair } from '../../src/certs/issue.ts';
import { describeWithControlPlane } from '../control-plane/describe-with-control-plane.ts';
import { NAMESPACE, SERVICE } from '../control-plane/replicas.ts';
import { admin } from '../control-plane/users.ts';
import { waitUntil } from '../control-plane/wait-until.ts';
import { createWorkspace } from '../control-plane/workspace.ts';
import { issueNamed } from '../unit/certs/authorities.ts';
import { base64, certificateData } from './certificate-data.ts';
import {
  CERTIFICATES,
  caBundles,
  configurationPath,
  type Installation,
  install,
  readCertificates,
  readConfigurations,
  registerControlPlaneNode,
  waitUntilProtected,
} from './installation.ts';
import { policyObject } from './policy-objects.ts';
import { createPolicy } from './policy-resources.ts';

describeWithControlPlane('a replica with --cert-dir', {}, (cp) => {
  let installation: Installation;
  beforeAll(async () => {
    mkdirSync(directory);
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
  afterAll(async () => {
    await installation?.stop();
    workspace.remove();
  });

  const workspace = createWorkspace('certificate-directory');
  const directory = workspace.path('certs');
  const put = (ca: Pick<KeyPair, 'cert'>, serving: KeyPair) => {
    writeFileSync(join(directory, 'tls.key'), serving.key);
    writeFileSync(join(directory, 'tls.crt'), serving.cert);
    writeFileSync(join(directory, 'ca.crt'), ca.cert);
  };
  const everyBundleIs = (bundle: string) =>
    waitUntil(
      async () => {
        const bundles = await caBundles(cp());
        // Nothing is registered at first.
        return (bundles.length > 0 && bundles.every((found) => found === bundle)) || undefined;
      },
      {
        // Trusted for 10 s, it is served; 5 s after that the one before it leaves; and the files are polled.
        timeoutMs: 30_000,
        otherwise: () => 'the bundles are not the CA of the directory',
      },
    );

  it('registers nothing with a certificate that has its name only as the Common Name', async () => {
    const ca = await issueCa(new Date());
    const name = `${SERVICE}.${NAMESPACE}.svc`;
    put(ca, await issueNamed(name, [], { ca }));
    const [replica] = await installation.start(['common-name'], {
      args: ['--cert-dir', directory],
      caOverlapSeconds: 5,
    });
    // The leader has called its Service for some seconds, and says why it does not register.
    await waitUntil(
      () => replica?.logs().some(({ msg }) => msg.includes(`Service ${NAMESPACE}/${SERVICE}`)) || undefined,
      {
        timeoutMs: 30_000,
        otherwise: () => JSON.stringify(replica?.logs()),
      },
    );

    expect(await replica?.readyz()).toMatchObject({
      status: 503,
      text: expect.stringContaining(`[-] certificate failed: it is not for ${name}\n`),
    });
    expect((await readConfigurations(cp())).flatMap(({ webhooks = [] }) => webhooks)).toEqual([]);
    await installation.kill('common-name');
  });

  const putNew = async () => {
    const ca = await issueCa(new Date());
    put(ca, await issueServing(ca, [`${SERVICE}.${NAMESPACE}.svc`], new Date()));
    return base64(ca.cert);
  };

  /** Starts the replica with a certificate of a new CA. One that already runs is left as it is. */
  async function startServing(): Promise<string> {
    if (!installation.replicas.has('a')) {
      const ca = await putNew();
      await installation.start(['a'], { args: ['--cert-dir', directory], caOverlapSeconds: 5 });
      await everyBundleIs(ca);
    }
    const [bundle = ''] = await caBundles(cp());
    return bundle;
  }

  it('serves what is there, and puts its CA into every caBundle', async () => {
    const secret = await readCertificates(cp());
    await startServing();
    await waitUntilProtected(cp(), 'cp-1');
    expect(await readCertificates(cp())).toEqual(secret);
  });

  it('serves what replaces it, and puts the new CA into every caBundle', async () => {
    const before = await startServing();
    const secret = await readCertificates(cp());
    const others = await otherConfiguration(before);
    await everyBundleIs(await putNew());
    await waitUntilProtected(cp(), 'cp-1');
    expect(await readCertificates(cp())).toEqual(secret);
    expect((await cp().request(admin, 'GET', others.path)).body).toEqual(others.body);
  });

  /** Of another name, as an admin may have registered it: its webhook leads to the same Service, and nobody calls it. */
  async function otherConfiguration(caBundle: string) {
    const collection = configurationPath('validating').replace(/\/taintkeeper$/, '');
    const body = {
      metadata: { name: 'of-somebody-else' },
      webhooks: [
        {
          name: 'of-somebody-else.example.com',
          clientConfig: { service: { namespace: NAMESPACE, name: SERVICE }, caBundle },
          admissionReviewVersions: ['v1'],
          sideEffects: 'None',
        },
      ],
    };
    const created = await cp().request(admin, 'POST', collection, { body });
    expect(created.status).toBe(201);
    return { path: `${collection}/of-somebody-else`, body: created.body };
  }

  it('keeps the CA in every caBundle while ca.crt has none, also when webhooks are written', async () => {
    const before = await startServing();
    const replica = installation.replica('a');
    const served = () => replica.logs().filter(({ msg }) => msg.startsWith('serving certificate expires')).length;
    const earlier = served();
    writeFileSync(join(directory, 'ca.crt'), 'garbage');
    await waitUntil(() => (served() > earlier ? true : undefined), {
      timeoutMs: 30_000,
      otherwise: () => 'the replica has not seen the file',
    });
    const policy = policyObject('TaintPolicy', 'another', {
      mode: 'Deny',
      taints: [{ key: 'example.com/another' }],
    });
    expect(await createPolicy(cp(), policy)).toMatchObject({ status: 201 });
    await waitUntil(
      async () => JSON.stringify(await readConfigurations(cp())).includes('example.com/another') || undefined,
      { timeoutMs: 30_000, otherwise: () => 'no webhook was written for the policy' },
    );
    expect(new Set(await caBundles(cp()))).toEqual(new Set([before]));
    await waitUntilProtected(cp(), 'cp-1');
  });
});
