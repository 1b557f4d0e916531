import type { Logger } from 'pino';
import { type FileKeeper, keepCertificates } from '../certs/certificate-keeper.ts';
import type { ServableCertificates } from '../certs/servable-certificates.ts';
import type { RegisteredWebhooks } from '../cluster/admission-registration/webhook-configurations.ts';
import { type CertificateSecret, keepSecret, type SecretKeeper } from '../cluster/certificates/secret-keeper.ts';
import type { ApiClient } from '../cluster/client/api-client.ts';
import { confirmedTime } from '../cluster/client/confirmed-time.ts';
import { OWN_LEASE, OWN_SECRET } from '../cluster/installation/own-names.ts';
import { isLed } from '../cluster/lease/lease.ts';
import { retry } from '../runtime/retry.ts';
import { certificateLog } from './certificate-log.ts';

export interface CertificateOptions {
  readonly client: ApiClient;
  readonly namespace: string;
  readonly certDirectory: string | undefined;
  /** How long an earlier CA stays trusted after the certificates were replaced, in milliseconds. */
  readonly caOverlapMs: number;
  readonly log: Logger;
}

/**
 * The certificates of the Secret; or those of a directory, where there is one.
 * @param onServe called with the certificates to serve, also the first ones
 * @param onChange called after each change of the Secret
 */
export async function openClusterCertificates(
  options: CertificateOptions,
  names: readonly string[],
  { trust }: RegisteredWebhooks,
  onServe: (certificates: ServableCertificates) => void,
  onChange: () => void,
): Promise<{ keeper: FileKeeper | SecretKeeper; secret: CertificateSecret | undefined }> {
  const { client, namespace, certDirectory, caOverlapMs: overlapMs, log } = options;
  const logging = certificateLog(log, certDirectory);
  if (certDirectory !== undefined) {
    const onWait = () => log.info('a certificate of another CA is served once every caBundle has that CA');
    const callers = { trust, now: client.now, onWait };
    // A pair of our own must be valid for the API server, and its CA is never replaced.
    await retry('certificates', log, () => confirmedTime(client));
    return {
      keeper: await keepCertificates({ directory: certDirectory, names, callers, onServe, ...logging }),
      secret: undefined,
    };
  }
  const ref = { namespace, name: OWN_SECRET };
  const hasRescuer = () => isLed(client, namespace, OWN_LEASE);
  const keeping = {
    client,
    ref,
    names,
    overlapMs,
    hasRescuer,
    trust,
    onServe,
    ...logging,
    onChange,
    log,
  };
  const keeper = await retry('certificates', log, () => keepSecret(keeping));
  return { keeper, secret: { keeper, ref, names } };
}
