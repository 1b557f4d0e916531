import { X509Certificate } from 'node:crypto';
import type { Logger } from 'pino';
import { InputError, readText } from '../files/text-files.ts';
import { fingerprint, watchFiles } from '../files/watch-files.ts';
import { printable } from '../kubernetes/text.ts';
import type { KnownClients } from '../server/tls.ts';

/** The CAs whose clients may call the webhook: those of the API server. */
export interface ClientAuthority {
  /** PEM, from the last good version of the file. */
  current(): string;
  stop(): void;
}

export interface ClientAuthorityOptions {
  readonly file: string;
  readonly onChange: () => void;
  readonly onFault: (message: string) => void;
  /** How often the file is checked; see {@link watchFiles}. */
  readonly pollIntervalMs?: number | undefined;
}

/**
 * Reads a file of CA certificates, and follows it. While it is broken, the last good ones stay.
 * @throws InputError for a file without CA certificates
 */
async function followClientAuthority(options: ClientAuthorityOptions): Promise<ClientAuthority> {
  const { file, onChange, onFault, pollIntervalMs } = options;
  const list = async () => [file];
  const before = await fingerprint(list);
  let bundle = await readBundle(file);

  const refresh = async () => {
    try {
      const found = await readBundle(file);
      if (found === bundle) return;
      bundle = found;
      onChange();
    } catch (error) {
      onFault((error as Error).message);
    }
  };
  const watch = await watchFiles(list, refresh, pollIntervalMs, before);
  return { current: () => bundle, stop: watch.stop };
}

const PEM = /-----BEGIN CERTIFICATE-----[^-]*-----END CERTIFICATE-----/g;

async function readBundle(file: string): Promise<string> {
  const found = (await readText(file)).match(PEM) ?? [];
  if (found.length === 0 || !found.every(isAuthority)) {
    throw new InputError([`--client-ca ${file}: expected CA certificates in PEM, and nothing else but text`]);
  }
  return found.join('\n');
}

function isAuthority(pem: string): boolean {
  try {
    return new X509Certificate(pem).ca;
  } catch {
    return false;
  }
}

export interface FollowedClients {
  /** The CAs of the clients that may call, from the last good version of the file. */
  known(): KnownClients;
  stop(): void;
}

interface ClientFileOptions {
  /** A file with the CAs of the clients that may call; undefined: every client may. */
  readonly clientCa: string | undefined;
  readonly pollIntervalMs?: number | undefined;
}

/**
 * Follows the file with the CAs of the clients that may call, if there is one.
 * @param onChange called when the CAs have changed
 * @throws InputError for a file without CA certificates
 */
export async function followClients(
  { clientCa: file, pollIntervalMs }: ClientFileOptions,
  log: Logger,
  onChange: () => void,
): Promise<FollowedClients | undefined> {
  if (file === undefined) return undefined;
  const authority = await followClientAuthority({
    file,
    pollIntervalMs,
    onChange() {
      onChange();
      log.info(`clients of the CAs in ${file} may call from now on`);
    },
    onFault: (message) => log.error(`CAs of clients not replaced, the last good ones stay: ${printable(message)}`),
  });
  return { known: () => ({ ca: authority.current() }), stop: authority.stop };
}
