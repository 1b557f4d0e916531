import type { Logger } from 'pino';
import type { CertificateKeeperOptions } from '../certs/certificate-keeper.ts';

/** Logs what a keeper issues, and why it serves the last good certificates. */
export function certificateLog(
  log: Logger,
  directory: string | undefined,
): Pick<CertificateKeeperOptions, 'onIssued' | 'onFault'> {
  return {
    onIssued: (what) => log.info({ directory }, `issued ${what}`),
    onFault: (message) => log.error(`certificates not replaced: ${message}`),
  };
}
