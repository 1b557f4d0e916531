import { mkdirSync, renameSync, symlinkSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { setTimeout as delay } from 'node:timers/promises';
import { afterAll, beforeAll, expect, it } from 'vitest';
import { parseCertificates } from '../../src/certs/bundle.ts';
import { describeWithControlPlane } from '../control-plane/describe-with-control-plane.ts';
import { waitUntil } from '../control-plane/wait-until.ts';
import { createWorkspace, type Workspace } from '../control-plane/workspace.ts';
import { startAdmissionStream, summaryOfAdmissions } from './admission-stream.ts';
import { issue, type Pair } from './doctor-rig.ts';
import { shakeHands } from './handshake.ts';
import {
  caBundles,
  type Installation,
  install,
  leaderOf,
  registerControlPlaneNode,
  waitUntilProtected,
} from './installation.ts';
import { NONE_FAILED, startTrustProber, summaryOfHandshakes } from './trust-prober.ts';

/** How much later each replica sees new files than the one before: 30 s in a cluster may be asked for. */
const LAG_MS = Number(process.env.CERTIFICATE_LAG_SECONDS ?? 4) * 1_000;
/** The last one sees them two lags late, and serves them 10 s after it has seen that they are trusted. */
const OVERLAP_SECONDS = (2 * LAG_MS) / 1_000 + 15;
const AGREEMENT_TIMEOUT_MS = 3 * LAG_MS + OVERLAP_SECONDS * 1_000 + 90_000;

const REPLICAS = ['a', 'b', 'c'];

/** A Secret as a kubelet mounts it: the files change all at once, by a link. */
function mountedSecret(workspace: Workspace, name: string) {
  const directory = workspace.path(name);
  mkdirSync(directory);
  let versions = 0;
  return {
    directory,
    put({ ca, serving }: Pair): void {
      const version = `..${++versions}`;
      mkdirSync(join(directory, version));
      writeFileSync(join(directory, version, 'tls.key'), serving.key);
      writeFileSync(join(directory, version, 'tls.crt'), serving.cert);
      writeFileSync(join(directory, version, 'ca.crt'), ca.cert);
      symlinkSync(version, join(directory, '..data_tmp'));
      renameSync(join(directory, '..data_tmp'), join(directory, '..data'));
      if (versions > 1) return;
      for (const file of ['tls.key', 'tls.crt', 'ca.crt']) symlinkSync(join('..data', file), join(directory, file));
    },
  };
}

describeWithControlPlane(
  'a certificate of another CA, from elsewhere, that replicas see one after the other',
  {},
  (cp) => {
    const workspace = createWorkspace('late-certificates');
    const secrets = new Map(REPLICAS.map((name) => [name, mountedSecret(workspace, name)]));
    let installation: Installation;
    const figures: string[] = [];

    beforeAll(async () => {
      const first = await issue();
      installation = await install(cp());
      for (const [name, { directory, put }] of secrets) {
        put(first);
        await installation.start([name], { args: ['--cert-dir', directory], caOverlapSeconds: OVERLAP_SECONDS });
      }
      await registerControlPlaneNode(cp(), 'cp-1');
      await waitUntilProtected(cp(), 'cp-1');
      await installation.proxy.waitForReady(...REPLICAS);
    });
    afterAll(async () => {
      await installation?.stop();
      workspace.remove();
      process.stderr.write(`${figures.join('\n')}\n`);
    });

    /** Waits until every replica serves it, and every bundle has its CA alone. */
    async function waitForAgreement({ ca, serving }: Pair): Promise<void> {
      let last = '';
      await waitUntil(
        async () => {
          const bundles = (await caBundles(cp())).map((bundle) =>
            parseCertificates(Buffer.from(bundle ?? '', 'base64').toString()).map(String),
          );
          const shown = await Promise.all(
            [...installation.replicas.values()].map(({ port }) => shakeHands(port, ca.cert)),
          );
          const served = shown.map(
            (one) => 'certificate' in one && one.certificate?.toString().trim() === serving.cert.trim(),
          );
          last = JSON.stringify({ cas: bundles.map(({ length }) => length), served });
          const isAlone = bundles.every((bundle) => bundle.length === 1 && bundle[0]?.trim() === ca.cert.trim());
          return (isAlone && served.every(Boolean)) || undefined;
        },
        { timeoutMs: AGREEMENT_TIMEOUT_MS, otherwise: () => `no agreement: ${last}` },
      );
    }

    it.each([{ leaderSees: 'first' }, { leaderSees: 'last' }])(
      'fails no request: the leader sees it $leaderSees',
      async ({ leaderSees }) => {
        const leader = await leaderOf(cp());
        const others = REPLICAS.filter((name) => name !== leader);
        const next = await issue();
        const stream = startAdmissionStream(cp(), 'cp-1');
        const prober = startTrustProber(cp(), installation.proxy.port);

        for (const name of leaderSees === 'first' ? [leader, ...others] : [...others, leader]) {
          secrets.get(name)?.put(next);
          await delay(LAG_MS);
        }
        await waitForAgreement(next);
        // So that some handshakes are made with the bundles as they were a moment ago.
        await prober.caughtUp();
        await Promise.all([stream.stop(), prober.stop()]);

        const admissions = stream.take();
        const handshakes = prober.take();
        figures.push(
          `seen ${LAG_MS / 1_000} s apart, the leader ${leaderSees}: ${summaryOfAdmissions(admissions)}; ${summaryOfHandshakes(handshakes)}`,
        );
        expect(admissions.refused).toBeGreaterThan(0);
        expect(admissions).toMatchObject({ passed: 0, failed: [] });
        expect(handshakes).toMatchObject(NONE_FAILED);
      },
      AGREEMENT_TIMEOUT_MS + 30_000,
    );
  },
);
