import type { Logger } from 'pino';
import { type FileKeeper, keepCertificates } from '../certs/certificate-keeper.ts';
import type { CallersTrust } from '../certs/hand-over.ts';
import type { ServableCertificates } from '../certs/servable-certificates.ts';
import { type CertificateSecret, keepSecret, type SecretKeeper } from '../cluster/certificates/secret-keeper.ts';
import type { ApiClient } from '../cluster/client/api-client.ts';
import { confirmedTime } from '../cluster/client/confirmed-time.ts';
import { OWN_LEASE, OWN_SECRET } from '../cluster/installation/own-names.ts';
import { isLed } from '../cluster/lease/lease.ts';
import { retry } from '../runtime/retry.ts';
import { certificateLog } from './certificate-log.ts';

export interface ClusterCertificatesOptions {
  readonly client: ApiClient;
  /** The namespace of the Secret and the Lease. */
  readonly namespace: string;
  /** Serve certificates from here in place of the Secret's. */
  readonly certDirectory: string | undefined;
  /** DNS names that the serving certificate must have. */
  readonly names: readonly string[];
  /** The API server's trust. */
  readonly trust: CallersTrust;
  /** How long an earlier CA stays trusted after the certificates were replaced, in milliseconds. */
  readonly caOverlapMs: number;
  /** Called with the certificates to serve, also the first ones. */
  readonly onServe: (certificates: ServableCertificates) => void;
  /** Called after each change of the Secret. */
  readonly onChange: () => void;
  readonly log: Logger;
}

/** Opens the certificates of the Secret, or those of the directory if there is one. */
export async function openClusterCertificates(
  options: ClusterCertificatesOptions,
): Promise<{ keeper: FileKeeper | SecretKeeper; secret: CertificateSecret | undefined }> {
  const { client, namespace, certDirectory, names, trust, caOverlapMs: overlapMs, onServe, onChange, log } = options;
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
