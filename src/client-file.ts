import type { Logger } from 'pino';
import { followClientAuthority } from './certs/client-authority.ts';
import { printable } from './policy/text.ts';
import type { KnownClients } from './server/known-clients.ts';

/** A file with the CAs of those who may call, and the only common name that will do, if there is one. */
export interface ClientFile {
  readonly caFile: string;
  readonly name?: string | undefined;
}

export interface FollowedClients {
  /** Who may call, as the file was when it was last good. */
  known(): KnownClients;
  stop(): void;
}

interface ClientFileOptions {
  readonly clients: ClientFile | undefined;
  readonly pollIntervalMs?: number | undefined;
}

/**
 * Follows the file of those who may call, if there is one.
 * @param use is told of other CAs, PEM
 * @throws InputError for a file without CA certificates
 */
export async function followClients(
  { clients, pollIntervalMs }: ClientFileOptions,
  log: Logger,
  use: (bundle: string) => void,
): Promise<FollowedClients | undefined> {
  if (!clients) return undefined;
  const { caFile: file, name } = clients;
  const authority = await followClientAuthority({
    file,
    pollIntervalMs,
    onChange(bundle) {
      use(bundle);
      log.info(`clients of the CAs in ${file} may call from now on`);
    },
    onFault: (message) => log.error(`CAs of clients not replaced, the last good ones stay: ${printable(message)}`),
  });
  return { known: () => ({ ca: authority.current(), name }), stop: authority.stop };
}
