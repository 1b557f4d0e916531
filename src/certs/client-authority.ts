import { X509Certificate } from 'node:crypto';
import type { Logger } from 'pino';
import { InputError } from '../files/input-error.ts';
import { readText } from '../files/text-files.ts';
import { fingerprint, watchFiles } from '../files/watch-files.ts';
import type { KnownClients } from '../server/tls.ts';
import { printable } from '../text/printable.ts';

export interface FollowedClients {
  /** The CAs of the clients that may call, from the last good version of the file. */
  known(): KnownClients;
  stop(): void;
}

interface ClientFileOptions {
  /** A file with the CAs of the clients that may call; undefined: every client may. */
  readonly clientCa: string | undefined;
  /** How often the file is checked; see {@link watchFiles}. */
  readonly pollIntervalMs?: number | undefined;
}

/**
 * Follows the file with the CAs of the clients that may call, if there is one. While it is broken, the last good ones stay.
 * @param onChange called when the CAs have changed
 * @throws InputError for a file without CA certificates
 */
export async function followClients(
  { clientCa: file, pollIntervalMs }: ClientFileOptions,
  log: Logger,
  onChange: () => void,
): Promise<FollowedClients | undefined> {
  if (file === undefined) return undefined;
  const list = async () => [file];
  const before = await fingerprint(list);
  let ca = await readAuthorities(file);

  const refresh = async () => {
    try {
      const found = await readAuthorities(file);
      if (found === ca) return;
      ca = found;
      onChange();
      log.info(`clients of the CAs in ${file} may call from now on`);
    } catch (error) {
      log.error(`CAs of clients not replaced, the last good ones stay: ${printable((error as Error).message)}`);
    }
  };
  const watch = await watchFiles(list, refresh, pollIntervalMs, before);
  return { known: () => ({ ca }), stop: watch.stop };
}

/** Other than in `parseCertificates`, an empty block also counts: it is an error in this file, and not left out. */
const PEM = /-----BEGIN CERTIFICATE-----[^-]*-----END CERTIFICATE-----/g;

async function readAuthorities(file: string): Promise<string> {
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
