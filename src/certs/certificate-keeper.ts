import { watchFiles } from '../files/watch-files.ts';
import { openCertificates, type ServableCertificates } from './certificate-directory.ts';
import { certificateFiles } from './certificate-files.ts';

/** How often the certificates are looked at even if no file changed: time alone makes them old. */
const RENEWAL_CHECK_INTERVAL_MS = 3_600_000;

/** A directory of certificates that is kept fit to be served from. */
export interface CertificateKeeper {
  /** The last good certificates. */
  current(): ServableCertificates;
  /** Why the directory's present state is not what {@link current} shows, or undefined while it is. */
  fault(): string | undefined;
  stop(): void;
}

export interface CertificateKeeperOptions {
  readonly directory: string;
  /** DNS names and IP addresses that the serving certificate has to be for. */
  readonly names: readonly string[];
  /** Called with the first certificates, and again whenever the serving pair is another one. */
  readonly onServe: (certificates: ServableCertificates) => void;
  readonly onFault: (message: string) => void;
  /** How often the files are looked at; see {@link watchFiles}. */
  readonly pollIntervalMs?: number | undefined;
}

/**
 * Opens the directory and keeps looking after it: renews in time, takes over files that somebody else replaced, and keeps
 * the last good pair while they are broken.
 * @throws CertificateDirectoryError when the directory cannot be opened the first time
 */
export async function keepCertificates(options: CertificateKeeperOptions): Promise<CertificateKeeper> {
  const { directory, names, onServe, onFault, pollIntervalMs } = options;
  let current = await openCertificates(directory, names, new Date());
  let fault = current.fault;
  onServe(current);
  if (fault) onFault(fault);

  let latest: Promise<void> = Promise.resolve();
  let stopped = false;
  const watch = await watchFiles(async () => certificateFiles(directory), refresh, pollIntervalMs);
  // What changed after the reading and before the watch began.
  await refresh();
  const timer = setInterval(refresh, RENEWAL_CHECK_INTERVAL_MS).unref();

  return {
    current: () => current,
    fault: () => fault,
    stop() {
      stopped = true;
      watch.stop();
      clearInterval(timer);
    },
  };

  /** One after the other: what began earlier must not end later, and serve what it read before. */
  function refresh(): Promise<void> {
    latest = latest.then(look);
    return latest;
  }

  async function look(): Promise<void> {
    if (stopped) return;
    try {
      // Somebody else's pair may be gone for a moment while it is being replaced.
      const found = await openCertificates(
        directory,
        names,
        new Date(),
        current.renews === 'nothing' ? 'nothing' : 'serving',
      );
      const changed = found.serving.cert !== current.serving.cert || found.serving.key !== current.serving.key;
      current = found;
      if (found.fault && found.fault !== fault) onFault(found.fault);
      fault = found.fault;
      if (changed) onServe(current);
    } catch (error) {
      fault = (error as Error).message;
      onFault(fault);
    }
  }
}
