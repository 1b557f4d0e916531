import { watchFiles } from '../files/watch-files.ts';
import { startTimer } from '../runtime/timer.ts';
import type { CaTrust } from './ca-trust.ts';
import { openCertificates, type ServableCertificates } from './certificate-directory.ts';
import { certificateFiles } from './certificate-files.ts';
import { invalidAt, joinBundles, parseCertificates } from './inspect.ts';

/** How often the certificates are checked even if no file changed, because they expire. */
const RENEWAL_CHECK_INTERVAL_MS = 3_600_000;

/** A directory of certificates that is renewed in time. */
export interface CertificateKeeper {
  /** The last good certificates. */
  current(): ServableCertificates;
  /** Why the directory's current state is not {@link current}; undefined while it is. */
  fault(): string | undefined;
  stop(): void;
}

/** A keeper of files. */
export interface FileKeeper extends CertificateKeeper {
  /** The callers' trust may have changed. */
  recheck(): void;
}

export interface CertificateKeeperOptions {
  readonly directory: string;
  /** DNS names and IP addresses that the serving certificate must have. */
  readonly names: readonly string[];
  /** The callers, if they are known: a pair of a CA that they do not trust yet waits. */
  readonly callers?: Callers | undefined;
  /** Called with the first certificates, and again after each change of the serving pair or the bundle. */
  readonly onServe: (certificates: ServableCertificates) => void;
  readonly onFault: (message: string) => void;
  /** How often the files are checked; see {@link watchFiles}. */
  readonly pollIntervalMs?: number | undefined;
}

export interface Callers {
  readonly trust: Pick<CaTrust, 'waitMs'>;
  /** The callers' clock. */
  readonly now: () => Date;
  /** Called when a new pair begins to wait. */
  readonly onWait: () => void;
}

/** The served pair may expire, whatever the callers trust. */
const WAIT_CHECK_INTERVAL_MS = 10_000;

/**
 * Opens the directory and maintains it: renews in time, loads files that another writer replaced, and keeps the last good pair while they are broken.
 * If the callers are known, a pair of another CA is served only once they trust that CA, or the earlier pair is no longer valid. Until then the
 * bundle has the CAs of both.
 * @throws CertificateDirectoryError if the directory cannot be opened the first time
 */
export async function keepCertificates(options: CertificateKeeperOptions): Promise<FileKeeper> {
  const { directory, names, callers, onServe, onFault, pollIntervalMs } = options;
  /** The content of the directory, if it is usable. */
  let latestGood = await openCertificates(directory, names, new Date());
  /** The served pair: that one, or an earlier one. */
  let served = latestGood;
  let current = served;
  let fault = current.fault;
  let waiting: NodeJS.Timeout | undefined;
  onServe(current);
  if (fault) onFault(fault);

  let latest: Promise<void> = Promise.resolve();
  let stopped = false;
  const watch = await watchFiles(async () => certificateFiles(directory), refresh, pollIntervalMs);
  // Changes between the read and the start of the watch.
  await refresh();
  const timer = setInterval(refresh, RENEWAL_CHECK_INTERVAL_MS).unref();
  recheck();

  return {
    current: () => current,
    fault: () => fault,
    recheck,
    stop() {
      stopped = true;
      watch.stop();
      clearInterval(timer);
      clearTimeout(waiting);
    },
  };

  /** One after the other: an earlier read must not end later, and serve what it read before. */
  function refresh(): Promise<void> {
    latest = latest.then(look);
    return latest;
  }

  async function look(): Promise<void> {
    if (stopped) return;
    try {
      // A pair from another issuer may be absent for a moment while it is replaced.
      const found = await openCertificates(
        directory,
        names,
        new Date(),
        latestGood.renews === 'nothing' ? 'nothing' : 'serving',
      );
      latestGood = found;
      if (found.fault && found.fault !== fault) onFault(found.fault);
      fault = found.fault;
      recheck();
    } catch (error) {
      fault = (error as Error).message;
      onFault(fault);
    }
  }

  /** Serves the directory's pair as soon as that is safe. */
  function recheck(): void {
    if (stopped) return;
    const wasWaiting = waiting !== undefined;
    clearTimeout(waiting);
    waiting = undefined;
    const waitMs = handOverMs();
    if (waitMs <= 0) served = latestGood;
    else {
      waiting = startTimer(recheck, Math.min(waitMs, WAIT_CHECK_INTERVAL_MS)).unref();
      if (!wasWaiting) callers?.onWait();
    }
    const bundle = served === latestGood ? latestGood.bundle : joinBundles(latestGood.bundle, served.bundle);
    const before = current;
    current = { ...served, bundle };
    if (!isSamePair(current, before) || current.bundle !== before.bundle) onServe(current);
  }

  /** How long the directory's pair must wait until it is served, in milliseconds. Infinity while that is not known. */
  function handOverMs(): number {
    if (callers === undefined || isSamePair(served, latestGood)) return 0;
    const cas = parseCertificates(latestGood.bundle ?? '');
    // Without a CA beside it, the system's CAs decide about trust.
    if (cas.length === 0 || served.bundle === undefined) return 0;
    if (invalidAt(served.certificate, callers.now()) !== undefined) return 0;
    return Math.max(...cas.map((ca) => callers.trust.waitMs(ca)));
  }
}

function isSamePair({ serving: a }: ServableCertificates, { serving: b }: ServableCertificates): boolean {
  return a.cert === b.cert && a.key === b.key;
}
