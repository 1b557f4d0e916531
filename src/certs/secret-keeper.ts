import { X509Certificate } from 'node:crypto';
import { setTimeout as delay } from 'node:timers/promises';
import type { Logger } from 'pino';
import type { ApiClient } from '../cluster/client/api-client.ts';
import { watchResource } from '../cluster/watch/watch-cache.ts';
import type { ServableCertificates } from './certificate-directory.ts';
import type { CertificateKeeper } from './certificate-keeper.ts';
import {
  NO_SECRET,
  readSecret,
  type SecretRef,
  type SecretState,
  secretsPath,
  viewSecret,
  writeSecret,
} from './certificate-secret.ts';
import { signerOf } from './faults.ts';
import { type CompleteFiles, nextStep, unusable } from './rotation.ts';

/** How long a replica that starts leaves the repair of a broken Secret to those that still know the last good one. */
const RESCUE_MS = 3_000;
const RESCUE_POLL_MS = 200;

/** The certificates of a Secret that many replicas serve. Only reads, but for the first: the leader renews. */
export interface SecretKeeper extends CertificateKeeper {
  /** The Secret as it was last seen, usable or not. */
  stored(): SecretState;
  /** What {@link current} was made from, the CA's key included. */
  lastGood(): CompleteFiles;
}

export interface SecretKeeperOptions {
  readonly client: ApiClient;
  readonly ref: SecretRef;
  /** DNS names that the serving certificate has to be for. */
  readonly names: readonly string[];
  /** Whether another replica may be there to put back what is broken. */
  readonly hasRescuer: () => Promise<boolean>;
  /** Called with the first certificates, and again whenever they are others. */
  readonly onServe: (certificates: ServableCertificates) => void;
  readonly onFault: (message: string) => void;
  /** Called whenever the Secret was seen to change. */
  readonly onChange: () => void;
  readonly log: Logger;
}

/**
 * Reads the Secret, and creates or mends it first where that is needed: of many replicas that do so at the same time one is
 * the first, and the others take what it wrote. From then on the Secret is watched, and the last good certificates are kept
 * while it is broken.
 * @throws ApiError, or the error of a connection that fails
 */
export async function keepSecret(options: SecretKeeperOptions): Promise<SecretKeeper> {
  const { client, ref, names, onServe, onFault, onChange, log } = options;
  const first = await openSecret(options);
  let stored = first.state;
  let lastGood = stored.files as CompleteFiles;
  let current = servable(lastGood, first.issued);
  let fault: string | undefined;
  onServe(current);

  const cache = watchResource({
    client,
    path: secretsPath(ref),
    fieldSelector: `metadata.name=${ref.name}`,
    project: viewSecret,
    onChange: (change) => take(change.type === 'deleted' ? NO_SECRET : change.entry.value),
    log,
  });

  return {
    current: () => current,
    fault: () => fault,
    stored: () => stored,
    lastGood: () => lastGood,
    stop: () => void cache.stop(),
  };

  function take(state: SecretState): void {
    stored = state;
    const reason = unusable(state.files, names, new Date());
    if (reason === undefined) {
      const files = state.files as CompleteFiles;
      const changed = files.cert !== lastGood.cert || files.caCert !== lastGood.caCert;
      lastGood = files;
      fault = undefined;
      if (changed) {
        current = servable(files, []);
        onServe(current);
      }
    } else {
      fault = `Secret ${ref.namespace}/${ref.name}: ${reason}; the last good certificates are served`;
      onFault(fault);
    }
    onChange();
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
    const now = new Date();
    if (unusable(state.files, names, now) === undefined) return { state, issued: [] };

    rescueUntil ??= (await hasRescuer()) ? performance.now() + RESCUE_MS : 0;
    if (performance.now() < rescueUntil) {
      await delay(RESCUE_POLL_MS);
      continue;
    }
    const step = await nextStep(state.files, { now, names, trusted: false, overlapMs: 0 });
    if (step === undefined) throw new Error(`Secret ${ref.namespace}/${ref.name} is of no use, and cannot be mended`);
    const written = await writeSecret(client, ref, step.files, state);
    if (written) return { state: written, issued: [step.what] };
  }
}

function servable(files: CompleteFiles, issued: readonly string[]): ServableCertificates {
  const certificate = new X509Certificate(files.cert);
  return {
    serving: { cert: files.cert, key: files.key },
    certificate,
    ca: signerOf(certificate, files.caCert),
    bundle: files.caCert,
    renews: 'all',
    uncovered: [],
    issued,
  };
}
