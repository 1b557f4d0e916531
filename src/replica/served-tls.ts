import type { Logger } from 'pino';
import type { CertificateKeeper } from '../certs/certificate-keeper.ts';
import { followClients } from '../certs/client-authority.ts';
import type { ServableCertificates } from '../certs/servable-certificates.ts';
import { createSubject, type Source } from '../runtime/source.ts';
import type { AdmissionMetrics } from '../server/metrics.ts';
import type { KnownClients, TlsPair } from '../server/tls.ts';

/** TLS of the admission server. Both parts may change while it runs. */
export interface ServedTls {
  certificate(): TlsPair;
  readonly certificateChanges: Source;
  /** The clients that may call; undefined: every client. */
  clients(): KnownClients | undefined;
  readonly clientChanges: Source;
}

export interface ServedTlsOptions<Opened> {
  /** Opens the certificates. It calls `onServe` with the certificates to serve, also with the first ones. */
  readonly open: (onServe: (certificates: ServableCertificates) => void) => Promise<Opened>;
  /** A file with the CAs of the clients that may call; undefined: every client may. */
  readonly clientCa: string | undefined;
  /** How often the file is checked; see {@link followClients}. */
  readonly pollIntervalMs?: number | undefined;
  readonly metrics: AdmissionMetrics;
  readonly log: Logger;
}

/**
 * Opens and follows the certificates and the CAs of the clients. Logs and counts the certificates that are served.
 * @throws InputError for a file without CA certificates, and whatever `open` throws
 */
export async function openServedTls<Opened extends { readonly keeper: CertificateKeeper }>(
  options: ServedTlsOptions<Opened>,
): Promise<Opened & { readonly tls: ServedTls; stop(): void }> {
  const { open, metrics, log } = options;
  const certificateChanges = createSubject();
  const clientChanges = createSubject();
  const clients = await followClients(options, log, clientChanges.next);
  try {
    const opened = await open(({ certificate, ca }) => {
      metrics.certificateServed('serving', certificate.validToDate);
      metrics.certificateServed('ca', ca?.validToDate);
      log.info(`serving certificate expires ${certificate.validToDate.toISOString()}`);
      certificateChanges.next();
    });
    return {
      ...opened,
      tls: {
        certificate: () => opened.keeper.current().serving,
        certificateChanges,
        clients: () => clients?.known(),
        clientChanges,
      },
      stop() {
        opened.keeper.stop();
        clients?.stop();
      },
    };
  } catch (error) {
    clients?.stop();
    throw error;
  }
}
