import { X509Certificate } from 'node:crypto';
import { setTimeout as delay } from 'node:timers/promises';
import type { Logger } from 'pino';
import type { CaTrust } from '../certs/ca-trust.ts';
import type { ServableCertificates } from '../certs/certificate-directory.ts';
import type { CertificateKeeper } from '../certs/certificate-keeper.ts';
import { chainInvalidAt, signerOf } from '../certs/inspect.ts';
import { type CompleteFiles, nextStep, unusable } from '../certs/rotation.ts';
import { startTimer } from '../runtime/timer.ts';
import {
  NO_SECRET,
  readSecret,
  type SecretRef,
  type SecretState,
  secretsPath,
  viewSecret,
  writeSecret,
} from './certificate-secret.ts';
import type { ApiClient } from './client/api-client.ts';
import { confirmedTime } from './client/confirmed-time.ts';
import { watchResource } from './watch/watch-cache.ts';

/** How long a starting replica leaves the repair of a broken Secret to replicas that still have the last good one. */
const RESCUE_MS = 3_000;
const RESCUE_POLL_MS = 200;
/** The served certificate expires, and earlier CAs become unnecessary, without a change of the Secret. */
const LOOK_AGAIN_MS = 60_000;

/** The certificates of a Secret that many replicas serve. It only reads, except for the first creation: the leader renews. */
export interface SecretKeeper extends CertificateKeeper {
  /** The last seen Secret, usable or not. */
  stored(): SecretState;
  /** The last usable contents of the Secret, the CA's key included. They may not be served yet. */
  lastGood(): CompleteFiles;
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
  readonly trust: Pick<CaTrust, 'waitMs'>;
  /** How long a CA stays in the bundle after this replica last served a certificate of it, in milliseconds. */
  readonly overlapMs: number;
  /** Called with the first certificates, and again after each change of them or their bundle. */
  readonly onServe: (certificates: ServableCertificates) => void;
  readonly onFault: (message: string) => void;
  /** Called after each change of the Secret. */
  readonly onChange: () => void;
  readonly log: Logger;
}

/**
 * Reads the Secret, and creates or repairs it first if needed: of several replicas that do so at the same time, the first one writes, and the others
 * read the result. Then it watches the Secret. It serves only trusted certificates: one of an unexpected CA (after the Secret was lost, or restored
 * from a backup) waits until it is trusted, and meanwhile the bundle has both CAs. It keeps the last good certificates while the Secret is broken.
 * The API server's clock decides about validity, because the API server must accept the certificates.
 * @throws ApiError, or the error of a connection that fails
 */
export async function keepSecret(options: SecretKeeperOptions): Promise<SecretKeeper> {
  const { client, ref, names, trust, overlapMs, onServe, onFault, onChange, log } = options;
  const first = await openSecret(options);
  let stored = first.state;
  let lastGood = stored.files as CompleteFiles;
  /** The served pair: {@link lastGood}, or an earlier one. */
  let served = lastGood;
  /** CAs that this replica used and the stored bundle lacks, and until when they stay trusted. */
  let former: { readonly ca: X509Certificate; readonly until: number }[] = [];
  let current = servable(served, bundle(), first.issued);
  let fault: string | undefined;
  let stopped = false;
  let timer: NodeJS.Timeout | undefined;
  onServe(current);
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
    current: () => current,
    fault: () => fault,
    stored: () => stored,
    lastGood: () => lastGood,
    recheck,
    stop() {
      stopped = true;
      clearTimeout(timer);
      void cache.stop();
    },
  };

  function take(state: SecretState): void {
    stored = state;
    const reason = unusable(state.files, names, client.now());
    if (reason === undefined) {
      lastGood = state.files as CompleteFiles;
      fault = undefined;
      recheck();
    } else {
      fault = `Secret ${ref.namespace}/${ref.name}: ${reason}; the last good certificates are served`;
      onFault(fault);
    }
    onChange();
  }

  /** Serves the last good certificates as soon as that is safe, and maintains the bundle before and after that. */
  function recheck(): void {
    former = former.filter(({ until }) => performance.now() < until);
    const waitMs = handOverMs();
    if (waitMs <= 0) served = lastGood;
    clearTimeout(timer);
    const untilNext = former.map(({ until }) => until - performance.now());
    if (waitMs > 0) untilNext.push(waitMs);
    if (!stopped) timer = startTimer(recheck, Math.min(LOOK_AGAIN_MS, ...untilNext) + 1).unref();
    const found = servable(served, bundle(), []);
    if (found.serving.cert === current.serving.cert && found.bundle === current.bundle) return;
    current = found;
    onServe(current);
  }

  /** How long the last good certificates must wait until they are served, in milliseconds. Infinity while no caller trusts them. */
  function handOverMs(): number {
    if (served.cert === lastGood.cert) return 0;
    const inUse = new X509Certificate(served.cert);
    const signer = signerOf(inUse, served.caCert);
    const next = signerOf(new X509Certificate(lastGood.cert), lastGood.caCert);
    const invalid = chainInvalidAt(served.cert, served.caCert, client.now());
    if (signer === undefined || next === undefined || invalid !== undefined) return 0;
    if (next.fingerprint256 === signer.fingerprint256) return 0;

    if (signerOf(inUse, lastGood.caCert) === undefined) {
      const others = former.filter(({ ca }) => ca.fingerprint256 !== signer.fingerprint256);
      former = [...others, { ca: signer, until: performance.now() + overlapMs }];
    }
    return trust.waitMs(next);
  }

  function bundle(): string {
    if (former.length === 0) return lastGood.caCert;
    return [lastGood.caCert.trimEnd(), ...former.map(({ ca }) => ca.toString().trimEnd()), ''].join('\n');
  }
}

async function openSecret({
  client,
  ref,
  names,
  hasRescuer,
}: SecretKeeperOptions): Promise<{ state: SecretState; issued: string[] }> {
  let rescueUntil: number | undefined;
  for (;;) {
    const state = await readSecret(client, ref);
    const now = await confirmedTime(client);
    if (unusable(state.files, names, now) === undefined) return { state, issued: [] };

    rescueUntil ??= (await hasRescuer()) ? performance.now() + RESCUE_MS : 0;
    if (performance.now() < rescueUntil) {
      await delay(RESCUE_POLL_MS);
      continue;
    }
    const step = await nextStep(state.files, { now, names, trusted: false, overlapMs: 0, futureForMs: 0 });
    if (step === undefined)
      throw new Error(`Secret ${ref.namespace}/${ref.name} is not usable, and cannot be repaired`);
    const written = await writeSecret(client, ref, step.files, state);
    if (written) return { state: written, issued: [step.what] };
  }
}

/** @param bundle of all trusted CAs: more than those of the files while they change */
function servable(files: CompleteFiles, bundle: string, issued: readonly string[]): ServableCertificates {
  const certificate = new X509Certificate(files.cert);
  return {
    serving: { cert: files.cert, key: files.key },
    certificate,
    ca: signerOf(certificate, files.caCert),
    bundle,
    renews: 'all',
    uncovered: [],
    issued,
  };
}
