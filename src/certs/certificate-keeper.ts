import { watchFiles } from '../files/watch-files.ts';
import { startTimer } from '../runtime/timer.ts';
import type { CaTrust } from './ca-trust.ts';
import { openCertificates, type ServableCertificates } from './certificate-directory.ts';
import { certificateFiles } from './certificate-files.ts';
import { invalidAt, joinBundles, parseCertificates } from './inspect.ts';

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

/** A keeper of files. */
export interface FileKeeper extends CertificateKeeper {
  /** What the callers trust may have changed. */
  recheck(): void;
}

export interface CertificateKeeperOptions {
  readonly directory: string;
  /** DNS names and IP addresses that the serving certificate has to be for. */
  readonly names: readonly string[];
  /** Who calls, where that is known: a pair of a CA that they do not trust yet waits. */
  readonly callers?: Callers | undefined;
  /** Called with the first certificates, and again whenever the serving pair or the bundle is another one. */
  readonly onServe: (certificates: ServableCertificates) => void;
  readonly onFault: (message: string) => void;
  /** How often the files are looked at; see {@link watchFiles}. */
  readonly pollIntervalMs?: number | undefined;
}

export interface Callers {
  readonly trust: Pick<CaTrust, 'waitMs'>;
  /** Their clock. */
  readonly now: () => Date;
  /** Called when a new pair begins to wait. */
  readonly onWait: () => void;
}

/** However the callers' trust changes, the pair that is served may end. */
const WAIT_CHECK_INTERVAL_MS = 10_000;

/**
 * Opens the directory and keeps looking after it: renews in time, takes over files that somebody else replaced, and keeps
 * the last good pair while they are broken. Where it is known who calls, a pair of another CA is served only once they trust
 * that CA, or the pair of before is no longer valid; until then the bundle has the CAs of both.
 * @throws CertificateDirectoryError when the directory cannot be opened the first time
 */
export async function keepCertificates(options: CertificateKeeperOptions): Promise<FileKeeper> {
  const { directory, names, callers, onServe, onFault, pollIntervalMs } = options;
  /** What the directory holds, as far as it is good. */
  let latestGood = await openCertificates(directory, names, new Date());
  /** What of that, or of before, is served. */
  let served = latestGood;
  let current = served;
  let fault = current.fault;
  let waiting: NodeJS.Timeout | undefined;
  onServe(current);
  if (fault) onFault(fault);

  let latest: Promise<void> = Promise.resolve();
  let stopped = false;
  const watch = await watchFiles(async () => certificateFiles(directory), refresh, pollIntervalMs);
  // What changed after the reading and before the watch began.
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

  /** Serves what the directory holds as soon as that is safe. */
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

  /** How long the pair of the directory has to wait until it is served, in milliseconds; Infinity while nobody knows. */
  function handOverMs(): number {
    if (callers === undefined || isSamePair(served, latestGood)) return 0;
    const cas = parseCertificates(latestGood.bundle ?? '');
    // Without a CA beside it, it is trusted by those of the system, or by nobody whom we could tell.
    if (cas.length === 0 || served.bundle === undefined) return 0;
    if (invalidAt(served.certificate, callers.now()) !== undefined) return 0;
    return Math.max(...cas.map((ca) => callers.trust.waitMs(ca)));
  }
}

function isSamePair({ serving: a }: ServableCertificates, { serving: b }: ServableCertificates): boolean {
  return a.cert === b.cert && a.key === b.key;
}
