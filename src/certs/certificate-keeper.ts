import { join } from 'node:path';
import { watchFiles } from '../files/watch-files.ts';
import { startTimer } from '../runtime/timer.ts';
import { joinBundles } from './bundle.ts';
import { openCertificates } from './certificate-directory.ts';
import { certificateFiles } from './certificate-files.ts';
import { type CallersTrust, isTrustedBySystem, serveCertificates } from './hand-over.ts';
import { type ServableCertificates, servableInvalidAt } from './servable-certificates.ts';
import { FILES } from './stored-files.ts';

/** How often the certificates are checked even if no file changed, because they expire. */
const RENEWAL_CHECK_INTERVAL_MS = 3_600_000;

/**
 * How often the validity of the served certificates is checked. A machine without a battery-backed clock starts years in the past, issues a
 * certificate of that time, and corrects its clock soon after.
 */
const VALIDITY_CHECK_INTERVAL_MS = 60_000;

/** Keeps the certificates that are served: of a directory, or of a Secret. */
export interface CertificateKeeper {
  /** The served certificates. */
  current(): ServableCertificates;
  /** Why the files of the directory or the Secret are not served; undefined if they are, and while they wait for trust. */
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
  /** The callers, if they are known. They call by {@link names}. A pair of a CA that they do not trust yet waits. */
  readonly callers?: Callers | undefined;
  /** Called with the first certificates, and again after each change of the serving pair or the bundle. */
  readonly onServe: (certificates: ServableCertificates) => void;
  /** Called with what was issued, and why. */
  readonly onIssued: (what: string) => void;
  readonly onFault: (message: string) => void;
  /** How often the files are checked; see {@link watchFiles}. */
  readonly pollIntervalMs?: number | undefined;
}

export interface Callers {
  readonly trust: CallersTrust;
  /** The callers' clock. */
  readonly now: () => Date;
  /** Called when a new pair begins to wait until the callers trust its CA. */
  readonly onWait: () => void;
}

/** The served pair may expire, and the next one may become valid, without a change of a file. */
const WAIT_CHECK_INTERVAL_MS = 10_000;

/**
 * Opens the directory and maintains it: renews in time, loads files that another writer replaced, and keeps the last good pair while they are broken.
 * While the served pair is valid, one that is not (or not yet) does not replace it. The clock of the callers decides, or the local one if the callers
 * are not known. If they are, the pair must also be for their names, lead to its CA, and be of a CA that they trust. Until it is served, the bundle has
 * the CAs of both.
 * @throws CertificateDirectoryError if the directory cannot be opened the first time
 */
export async function keepCertificates(options: CertificateKeeperOptions): Promise<FileKeeper> {
  const { directory, names, callers, onServe, onIssued, onFault, pollIntervalMs } = options;
  const now = callers?.now ?? (() => new Date());
  const opened = await openCertificates(directory, names, now());
  /** The content of the directory, if it is usable. */
  let lastGood: ServableCertificates = opened;
  let { fault } = opened;
  /** Whether it waits until the callers trust its CA. */
  let isUntrusted = false;
  let waiting: NodeJS.Timeout | undefined;
  for (const what of opened.issued) onIssued(what);
  const served = serveCertificates(opened, {
    where: join(directory, FILES.cert),
    trust: callers?.trust,
    onServe,
    onFault,
  });
  if (fault) onFault(fault);

  let latest: Promise<void> = Promise.resolve();
  let stopped = false;
  const watch = await watchFiles(async () => certificateFiles(directory), refresh, pollIntervalMs);
  // Changes between the read and the start of the watch.
  await refresh();
  const timers = [
    setInterval(refresh, RENEWAL_CHECK_INTERVAL_MS).unref(),
    setInterval(
      () => servableInvalidAt(served.current(), now()) !== undefined && refresh(),
      VALIDITY_CHECK_INTERVAL_MS,
    ).unref(),
  ];
  recheck();

  return {
    current: served.current,
    fault: () => fault ?? served.refusal(),
    recheck,
    stop() {
      stopped = true;
      watch.stop();
      for (const timer of timers) clearInterval(timer);
      clearTimeout(waiting);
    },
  };

  /** One after the other: an earlier read must not end later, and serve what it read before. */
  function refresh(): Promise<void> {
    latest = latest.then(reload);
    return latest;
  }

  async function reload(): Promise<void> {
    if (stopped) return;
    try {
      // A pair from another issuer may be absent for a moment while it is replaced.
      const found = await openCertificates(
        directory,
        names,
        now(),
        lastGood.renews === 'nothing' ? 'none' : 'servingOnly',
      );
      lastGood = found;
      for (const what of found.issued) onIssued(what);
      if (found.fault && found.fault !== fault) onFault(found.fault);
      fault = found.fault;
      recheck();
    } catch (error) {
      const { message } = error as Error;
      if (message !== fault) onFault(message);
      fault = message;
    }
  }

  /** Serves the directory's pair as soon as that is safe. */
  function recheck(): void {
    if (stopped) return;
    clearTimeout(waiting);
    const handOver = served.offer(lastGood, now(), bundleWith);
    if (handOver.kind !== 'served') {
      const waitMs = handOver.kind === 'untrusted' ? handOver.waitMs : WAIT_CHECK_INTERVAL_MS;
      waiting = startTimer(recheck, Math.min(waitMs, WAIT_CHECK_INTERVAL_MS)).unref();
    }
    const wasUntrusted = isUntrusted;
    isUntrusted = handOver.kind === 'untrusted';
    if (isUntrusted && !wasUntrusted) callers?.onWait();
  }

  function bundleWith(certificates: ServableCertificates): string | undefined {
    // The CA of another pair would end the trust by the CAs of the system.
    const isBySystem =
      certificates.bundle === undefined && (!callers || isTrustedBySystem(certificates, callers.trust, now()));
    return certificates === lastGood || isBySystem
      ? certificates.bundle
      : joinBundles(lastGood.bundle, certificates.bundle);
  }
}
