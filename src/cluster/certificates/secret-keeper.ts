import type { X509Certificate } from 'node:crypto';
import type { Logger } from 'pino';
import { hasCa, joinBundles } from '../../certs/bundle.ts';
import type { CertificateKeeper } from '../../certs/certificate-keeper.ts';
import { type CallersTrust, keptText, serveCertificates } from '../../certs/hand-over.ts';
import { invalidAt } from '../../certs/inspect.ts';
import { nextStep } from '../../certs/rotation.ts';
import { type ServableCertificates, servableOf } from '../../certs/servable-certificates.ts';
import { certificateFault } from '../../certs/stored-faults.ts';
import type { CompleteFiles } from '../../certs/stored-files.ts';
import { pause } from '../../runtime/pause.ts';
import { startTimer } from '../../runtime/timer.ts';
import type { ApiClient } from '../client/api-client.ts';
import { confirmedTime } from '../client/confirmed-time.ts';
import { watchResource } from '../watch/watch-cache.ts';
import {
  NO_SECRET,
  readSecret,
  type SecretRef,
  type SecretState,
  secretsPath,
  viewSecret,
  writeSecret,
} from './certificate-secret.ts';

/** How long a starting replica leaves the repair of a broken Secret to replicas that still have the last good one. */
const RESCUE_MS = 3_000;
const RESCUE_POLL_MS = 200;
/** The served certificate expires, and earlier CAs become unnecessary, without a change of the Secret. */
const RECHECK_MS = 60_000;

/** The certificates of a Secret that many replicas serve. After its start, it only reads: the leader repairs and renews. */
export interface SecretKeeper extends CertificateKeeper {
  /** The last seen Secret, usable or not. */
  stored(): SecretState;
  /** The last usable contents of the Secret, the CA's key included. They may not be served yet. */
  lastGoodFiles(): CompleteFiles;
  /** The callers' trust may have changed. */
  recheck(): void;
}

/** The Secret whose certificates this replica serves. */
export interface CertificateSecret {
  readonly keeper: SecretKeeper;
  readonly ref: SecretRef;
  /** DNS names that the serving certificate must have. */
  readonly names: readonly string[];
}

export interface SecretKeeperOptions {
  readonly client: ApiClient;
  readonly ref: SecretRef;
  /** DNS names that the serving certificate must have. */
  readonly names: readonly string[];
  /** Whether another replica may exist that can restore a broken Secret. */
  readonly hasRescuer: () => Promise<boolean>;
  /** The callers' trust. */
  readonly trust: CallersTrust;
  /** How long a CA stays in the bundle after this replica last served a certificate of it, in milliseconds. */
  readonly overlapMs: number;
  /** Called with the first certificates, and again after each change of them or their bundle. */
  readonly onServe: (certificates: ServableCertificates) => void;
  /** Called with what was issued for the Secret, and why. */
  readonly onIssued: (what: string) => void;
  readonly onFault: (message: string) => void;
  /** Called after each change of the Secret. */
  readonly onChange: () => void;
  readonly log: Logger;
}

/**
 * Reads the Secret, and creates or repairs it first if needed: of several replicas that do so at the same time, the first one writes, and the others
 * read the result. Then it watches the Secret. It serves only trusted certificates: one of an unexpected CA (after the Secret was lost, or restored
 * from a backup) waits until it is trusted, and meanwhile the bundle has both CAs. It keeps the last good certificates while the Secret is broken, and
 * valid ones while those of the Secret are not valid.
 * The API server's clock decides about validity, because the API server must accept the certificates.
 * @throws ApiError, or the error of a connection that fails
 */
export async function keepSecret(options: SecretKeeperOptions): Promise<SecretKeeper> {
  const { client, ref, names, trust, overlapMs, onServe, onFault, onChange, log } = options;
  const where = `Secret ${ref.namespace}/${ref.name}`;
  let stored = await openSecret(options);
  let lastGoodFiles = stored.files as CompleteFiles;
  /** The certificates of {@link lastGoodFiles}. */
  let lastGood = servableOf(lastGoodFiles, 'all');
  /** CAs that this replica used and the stored bundle lacks, and until when they stay trusted. */
  let former: { readonly ca: X509Certificate; readonly until: number }[] = [];
  let fault: string | undefined;
  let stopped = false;
  let timer: NodeJS.Timeout | undefined;
  const served = serveCertificates(lastGood, { where, trust, onServe, onFault });
  recheck();

  const cache = watchResource({
    client,
    path: secretsPath(ref),
    fieldSelector: `metadata.name=${ref.name}`,
    project: viewSecret,
    onChange: (change) => take(change.type === 'deleted' ? NO_SECRET : change.entry.value),
    log,
  });
  // A Secret that was deleted before the watch began is no change for the watch.
  cache.synced.then(
    () => cache.size === 0 && take(NO_SECRET),
    () => {},
  );

  return {
    current: served.current,
    fault: () => fault ?? served.refusal(),
    stored: () => stored,
    lastGoodFiles: () => lastGoodFiles,
    recheck,
    stop() {
      stopped = true;
      clearTimeout(timer);
      void cache.stop();
    },
  };

  function take(state: SecretState): void {
    stored = state;
    const reason = certificateFault(state.files, names, client.now());
    if (reason === undefined) {
      lastGoodFiles = state.files as CompleteFiles;
      lastGood = servableOf(lastGoodFiles, 'all');
      fault = undefined;
      recheck();
    } else {
      fault = keptText(where, reason);
      onFault(fault);
    }
    onChange();
  }

  /** Serves the last good certificates as soon as that is safe, and maintains the bundle before and after that. */
  function recheck(): void {
    keepServedCa();
    const bundle = joinBundles(lastGood.bundle, ...former.map(({ ca }) => ca.toString()));
    const handOver = served.offer(lastGood, client.now(), () => bundle);
    clearTimeout(timer);
    const untilNext = former.map(({ until }) => until - performance.now());
    if (handOver.kind === 'untrusted') untilNext.push(handOver.waitMs);
    if (!stopped) timer = startTimer(recheck, Math.min(RECHECK_MS, ...untilNext) + 1).unref();
  }

  /** Keeps the CA of the served certificate in the bundle after the Secret has lost it: other replicas may serve one of it for a while. */
  function keepServedCa(): void {
    const { ca } = served.current();
    former = former.filter(({ until }) => performance.now() < until);
    if (ca === undefined || hasCa(lastGoodFiles.bundle, ca) || invalidAt(ca, client.now()) !== undefined) return;
    const others = former.filter((one) => one.ca.fingerprint256 !== ca.fingerprint256);
    former = [...others, { ca, until: performance.now() + overlapMs }];
  }
}

async function openSecret({ client, ref, names, hasRescuer, onIssued }: SecretKeeperOptions): Promise<SecretState> {
  let rescueUntil: number | undefined;
  for (;;) {
    const state = await readSecret(client, ref);
    const now = await confirmedTime(client);
    if (certificateFault(state.files, names, now) === undefined) return state;

    rescueUntil ??= (await hasRescuer()) ? performance.now() + RESCUE_MS : 0;
    if (performance.now() < rescueUntil) {
      await pause(RESCUE_POLL_MS);
      continue;
    }
    const step = await nextStep(state.files, { now, names, trusted: false, overlapMs: 0, futureForMs: 0 });
    if (step === undefined)
      throw new Error(`Secret ${ref.namespace}/${ref.name} is not usable, and cannot be repaired`);
    const written = await writeSecret(client, ref, step.files, state);
    if (!written) continue;
    onIssued(step.what);
    return written;
  }
}
