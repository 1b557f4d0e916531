import type { Logger } from 'pino';
import { parseCertificates } from '../../certs/bundle.ts';
import { followFutureCa, nextStep } from '../../certs/rotation.ts';
import { certificateFault, notValidYet } from '../../certs/stored-faults.ts';
import type { RegisteredWebhooks } from '../../cluster/admission-registration/registered-webhooks.ts';
import { writeSecret } from '../../cluster/certificates/certificate-secret.ts';
import type { CertificateSecret } from '../../cluster/certificates/secret-keeper.ts';
import type { ApiClient } from '../../cluster/client/api-client.ts';
import type { Source } from '../../runtime/source.ts';
import { type Controller, type Run, startControllerReconciler } from '../controller.ts';

/** Certificates age without an event. */
const CHECK_AGAIN_MS = 10_000;

export interface CertificateRotationOptions {
  readonly client: ApiClient;
  readonly secret: CertificateSecret;
  /** How long an earlier CA stays trusted after the certificates were replaced, in milliseconds. */
  readonly overlapMs: number;
  readonly webhooks: Pick<RegisteredWebhooks, 'trust' | 'changes'>;
  readonly certificates: { readonly changes: Source };
}

/**
 * Returns a function that restores certificates that were lost or damaged, and takes the next step of the rotation once the last one has taken
 * effect. Its result is in how many milliseconds to run again.
 */
function certificateRotation(options: CertificateRotationOptions, log: Logger): () => Promise<number> {
  const { client, secret, overlapMs, webhooks } = options;
  const { ref, keeper, names } = secret;
  const { trust } = webhooks;
  const futureFor = followFutureCa();

  return async () => {
    const now = client.now();
    const before = keeper.stored();
    const [issuer] = parseCertificates(before.files.bundle);
    const waitMs = issuer ? trust.waitMs(issuer) : Number.POSITIVE_INFINITY;
    const futureForMs = futureFor(before.files.bundle, now, client.isClockConfirmed());
    const step =
      rescue() ?? (await nextStep(before.files, { now, names, trusted: waitMs === 0, overlapMs, futureForMs }));
    if (step) {
      const written = await writeSecret(client, ref, step.files, before);
      if (written) log.info({ secret: `${ref.namespace}/${ref.name}` }, `certificates: ${step.what}`);
    }
    return waitMs > 0 ? Math.min(waitMs, CHECK_AGAIN_MS) : CHECK_AGAIN_MS;

    function rescue() {
      const reason = certificateFault(before.files, names, now);
      const lastGoodFiles = keeper.lastGoodFiles();
      // No client accepts a CA that is not valid yet: a Secret that lost such a CA gets a new one.
      const isGood =
        (certificateFault(lastGoodFiles, names, now) ?? notValidYet(lastGoodFiles.bundle, now)) === undefined;
      if (reason === undefined || !isGood) return undefined;
      return { files: lastGoodFiles, what: `the last good ones were restored (${reason})` };
    }
  };
}

/** Renews the certificates in the Secret, and restores them. It does not write the `caBundle` of the webhooks: webhook-registration does. */
export function startCertificateRotation(run: Run, options: CertificateRotationOptions): Controller {
  const { webhooks, certificates } = options;
  const reconciler = startControllerReconciler(run, 'certificate-rotation', certificateRotation(options, run.log));
  for (const { changes } of [webhooks, certificates]) changes.subscribe(() => reconciler.trigger(), run.signal);
  return reconciler;
}
