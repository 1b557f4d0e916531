import { isIPv6 } from 'node:net';

/** Where apid listens (constants.ApidPort of Talos). */
export const APID_PORT = 50_000;

/** An address in the forms of talosctl: `host`, `host:port`, `[::1]:port`, or a URL, whose port is that of https. */
export function parseEndpoint(text: string): { readonly host: string; readonly port: number } {
  const [, scheme, rest = ''] = /^(?:([a-z]+):\/\/)?([^/]*)/i.exec(text) ?? [];
  const standard = scheme?.toLowerCase() === 'https' ? 443 : APID_PORT;
  if (isIPv6(rest)) return { host: rest, port: standard };
  const [, bracketed, plain = '', port] = /^(?:\[(.*)\]|([^:]*))(?::(\d+))?$/.exec(rest) ?? [];
  return { host: bracketed ?? (plain || rest), port: port === undefined ? standard : Number(port) };
}
