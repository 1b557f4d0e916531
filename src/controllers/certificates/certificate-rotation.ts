import type { Logger } from 'pino';
import type { CaTrust } from '../../certs/ca-trust.ts';
import { parseCertificates } from '../../certs/inspect.ts';
import { nextStep, unusable } from '../../certs/rotation.ts';
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
  readonly trust: Pick<CaTrust, 'waitMs'>;
  readonly log: Logger;
}

/**
 * One run of the leader's care for the certificates: what was lost or broken is put back, and rotation goes one step further
 * once the step before has taken effect. Gives the time until the next look, in milliseconds.
 */
function certificateRotation(options: RotationOptions): () => Promise<number> {
  const { client, ref, keeper, names, overlapMs, trust, log } = options;

  return async () => {
    const now = client.now();
    const before = keeper.stored();
    const [issuer] = parseCertificates(before.files.caCert ?? '');
    const waitMs = issuer ? trust.waitMs(issuer) : Number.POSITIVE_INFINITY;
    const step = rescue() ?? (await nextStep(before.files, { now, names, trusted: waitMs === 0, overlapMs }));
    if (step) {
      const written = await writeSecret(client, ref, step.files, before);
      if (written) log.info({ secret: `${ref.namespace}/${ref.name}` }, `certificates: ${step.what}`);
    }
    return waitMs > 0 ? Math.min(waitMs, LOOK_AGAIN_MS) : LOOK_AGAIN_MS;

    function rescue() {
      const reason = unusable(before.files, names, now);
      if (reason === undefined || unusable(keeper.lastGood(), names, now) !== undefined) return undefined;
      return { files: keeper.lastGood(), what: `the last good ones were restored (${reason})` };
    }
  };
}

type Context = Pick<
  LeaderContext,
  'client' | 'secret' | 'caOverlapMs' | 'webhooks' | 'certificates' | 'metrics' | 'log' | 'signal'
>;

/** Renews what is in the Secret, where the certificates are in one. */
export function startCertificateRotation(context: Context): Controller | undefined {
  const { secret, caOverlapMs: overlapMs, webhooks, certificates, signal } = context;
  if (!secret) return undefined;
  const rotate = certificateRotation({ ...context, ...secret, overlapMs, trust: webhooks.trust });
  const reconciler = startController(context, 'certificate-rotation', rotate);
  for (const { changes } of [webhooks, certificates]) changes.subscribe(() => reconciler.trigger(), signal);
  return reconciler;
}
