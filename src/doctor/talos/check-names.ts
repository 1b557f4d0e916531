/** The checks on which others depend. */
export const TALOSCONFIG = 'talosconfig';
export const CLIENT_CERTIFICATE = 'client certificate';

/** The check whether the certificate of an address is valid now. Its result has the name of the address. */
export function certificateCheckAt(address: string): string {
  return `certificate of ${address}`;
}
