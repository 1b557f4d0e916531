import type { Logger } from 'pino';
import { fingerprints } from '../../certs/inspect.ts';
import { type CompleteFiles, nextStep, PROPAGATION_MS, unusable } from '../../certs/rotation.ts';
import { type SecretRef, writeSecret } from '../../cluster/certificate-secret.ts';
import type { ApiClient } from '../../cluster/client/api-client.ts';
import type { SecretKeeper } from '../../cluster/secret-keeper.ts';
import { type Controller, type LeaderContext, startController } from '../context.ts';

/** Time alone makes certificates old. */
const LOOK_AGAIN_MS = 10_000;

export interface RotationOptions {
  readonly client: ApiClient;
  readonly ref: SecretRef;
  readonly keeper: SecretKeeper;
  readonly names: readonly string[];
  readonly overlapMs: number;
  /** Every `caBundle` that is registered with the API server, PEM. */
  readonly caBundles: () => readonly string[];
  readonly log: Logger;
}

/**
 * One run of the leader's care for the certificates: what was lost or broken is put back, and rotation goes one step further
 * once the step before has taken effect. Gives the time until the next look, in milliseconds.
 */
function certificateRotation(options: RotationOptions): () => Promise<number> {
  const { client, ref, keeper, names, overlapMs, caBundles, log } = options;
  let trustedSince: { readonly issuer: string; readonly at: number } | undefined;

  return async () => {
    const now = client.now();
    const before = keeper.stored();
    const step = rescue() ?? (await nextStep(before.files, { now, names, trusted: trusted(), overlapMs }));
    if (step) {
      const written = await writeSecret(client, ref, step.files, before);
      if (written) log.info({ secret: `${ref.namespace}/${ref.name}` }, `certificates: ${step.what}`);
    }
    return trustedSince && performance.now() < trustedSince.at + PROPAGATION_MS
      ? trustedSince.at + PROPAGATION_MS - performance.now()
      : LOOK_AGAIN_MS;

    function rescue() {
      const reason = unusable(before.files, names, now);
      if (reason === undefined || unusable(keeper.lastGood(), names, now) !== undefined) return undefined;
      return { files: keeper.lastGood(), what: `the last good ones were restored (${reason})` };
    }

    function trusted(): boolean {
      const issuer = issuerOf(before.files.caCert);
      if (issuer === undefined || !caBundles().every((bundle) => fingerprints(bundle).includes(issuer))) {
        trustedSince = undefined;
        return false;
      }
      // Nobody has to learn what nobody uses.
      if (caBundles().length === 0) return true;
      if (trustedSince?.issuer !== issuer) trustedSince = { issuer, at: performance.now() };
      return performance.now() >= trustedSince.at + PROPAGATION_MS;
    }
  };
}

function issuerOf(bundle: CompleteFiles['caCert'] | undefined): string | undefined {
  return fingerprints(bundle ?? '')[0];
}

/** Renews what is in the Secret, where the certificates are in one. */
export function startCertificateRotation(context: LeaderContext): Controller | undefined {
  const { secret, caOverlapMs: overlapMs, webhooks, certificates, signal } = context;
  if (!secret) return undefined;
  const rotate = certificateRotation({ ...context, ...secret, overlapMs, caBundles: webhooks.caBundles });
  const reconciler = startController(context, 'certificate-rotation', rotate);
  for (const { changes } of [webhooks, certificates]) changes.subscribe(() => reconciler.trigger(), signal);
  return reconciler;
}
