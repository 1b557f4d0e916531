import { pino } from 'pino';
import { onTestFinished } from 'vitest';
import { trackCaTrust } from '../../../../src/certs/ca-trust.ts';
import { nextStep } from '../../../../src/certs/rotation.ts';
import type { CompleteFiles } from '../../../../src/certs/stored-files.ts';
import { writeSecret } from '../../../../src/cluster/certificates/certificate-secret.ts';
import { keepSecret, type SecretKeeperOptions } from '../../../../src/cluster/certificates/secret-keeper.ts';
import type { ApiClient, LinesOptions, RequestOptions } from '../../../../src/cluster/client/api-client.ts';
import { absent } from '../client/absent.ts';

export const NAMES = ['taintkeeper.taintkeeper.svc'];
export const REF = { namespace: 'taintkeeper', name: 'taintkeeper-certs' };
export const NOW = new Date('2026-06-01T12:00:00Z');

/** The certificates of an installation that had none before. */
export async function newCertificates(now = NOW): Promise<CompleteFiles> {
  const nothing = { cert: undefined, key: undefined, bundle: undefined, caKey: undefined };
  const step = await nextStep(nothing, { now, names: NAMES, trusted: false, overlapMs: 0, futureForMs: 0 });
  return (step as { files: CompleteFiles }).files;
}

/** How long a CA that the Secret has lost stays trusted. */
export const OVERLAP_MS = 3_600_000;

/** An API server that has one Secret, and tells watchers about changes. Its clock is the local one. */
function secretServer() {
  let version = 0;
  let stored: Record<string, unknown> | undefined;
  let changed = Promise.withResolvers<void>();
  const tell = () => {
    changed.resolve();
    changed = Promise.withResolvers();
  };
  const client = {
    now: () => new Date(),
    isClockConfirmed: () => true,
    async request(method: string, path: string, { body }: RequestOptions = {}) {
      if (method !== 'GET') {
        const resourceVersion = String(++version);
        const { data } = body as { data: object };
        stored = { kind: 'Secret', apiVersion: 'v1', metadata: { ...REF, uid: 'u', resourceVersion }, data };
        tell();
      } else if (!path.endsWith(REF.name)) {
        return { metadata: { resourceVersion: String(version) }, items: stored ? [stored] : [] };
      }
      if (!stored) throw absent(method, path);
      return stored;
    },
    async *lines(_path: string, { signal, onOpen }: LinesOptions) {
      const aborted = new Promise<void>((_resolve, reject) =>
        signal?.addEventListener('abort', () => reject(signal.reason)),
      );
      onOpen?.();
      for (let last = stored; ; last = stored ?? last) {
        await Promise.race([changed.promise, aborted]);
        yield stored ? { type: 'MODIFIED', object: stored } : { type: 'DELETED', object: last };
      }
    },
  } as unknown as ApiClient;
  return {
    client,
    put: (files: CompleteFiles) =>
      writeSecret(client, REF, files, { files, resourceVersion: version === 0 ? undefined : String(version) }),
    remove() {
      stored = undefined;
      version++;
      tell();
    },
  };
}

/** A keeper of a Secret with these certificates, and with callers that trust their CA. */
export async function keepStored(
  files: CompleteFiles,
  callbacks: Pick<SecretKeeperOptions, 'onServe' | 'onIssued' | 'onFault' | 'onChange'>,
) {
  const { client, put, remove } = secretServer();
  await put(files);
  const trust = trackCaTrust();
  trust.observe([files.bundle]);
  const keeper = await keepSecret({
    client,
    ref: REF,
    names: NAMES,
    hasRescuer: async () => false,
    trust,
    overlapMs: OVERLAP_MS,
    ...callbacks,
    log: pino({ level: 'silent' }),
  });
  onTestFinished(() => keeper.stop());
  return { client, put, remove, trust, keeper };
}
