import { isIPv6 } from 'node:net';
import { parseDocuments } from '../files/documents.ts';
import { InputError } from '../files/text-files.ts';
import { isMapping } from './tree.ts';

/** One context of a talosconfig, as far as it says how to reach a cluster (`Context` of Talos' client). */
export interface TalosContext {
  readonly name: string;
  /** The other contexts of the file. */
  readonly others: readonly string[];
  readonly endpoints: readonly string[];
  /** Whom talosctl asks where nobody names one. */
  readonly nodes: readonly string[];
  /** PEM; undefined where the context has none, or what is no Base64. */
  readonly ca: string | undefined;
  readonly crt: string | undefined;
  readonly key: string | undefined;
  /** How else it proves who it is: such a context needs no certificate. */
  readonly otherAuth: 'basic' | 'siderov1' | undefined;
  /** Where talosctl goes through; undefined for nowhere. */
  readonly proxy: string | undefined;
}

/**
 * The context that is asked for, or the current one.
 * @param source names the text
 * @throws InputError; nothing that stands in it is quoted but names of contexts, for the rest may be secret
 */
export function readTalosContext(text: string, source: string, asked: string | undefined): TalosContext {
  const [value] = parseDocuments(text, source, { secret: true }).map((document) => document.value);
  if (!isMapping(value) || !isMapping(value.contexts)) {
    throw new InputError([`${source}: this is no talosconfig: it has no contexts`]);
  }
  const names = Object.keys(value.contexts);
  const name = asked ?? textOf(value.context) ?? '';
  const context = Object.hasOwn(value.contexts, name) ? value.contexts[name] : undefined;
  const known = names.length > 0 ? `it has ${names.join(', ')}` : 'it has none';
  if (name === '')
    throw new InputError([`${source}: no context is chosen, and ${known}: talosctl config context NAME`]);
  if (!isMapping(context)) throw new InputError([`${source}: there is no context ${name}: ${known}`]);
  const auth = isMapping(context.auth) ? context.auth : {};
  return {
    name,
    others: names.filter((other) => other !== name),
    endpoints: [...textsOf(context.endpoints), ...textsOf([context.target])],
    nodes: textsOf(context.nodes),
    ca: decoded(context.ca),
    crt: decoded(context.crt),
    key: decoded(context.key),
    otherAuth: isMapping(auth.siderov1) ? 'siderov1' : isMapping(auth.basic) ? 'basic' : undefined,
    proxy: textOf(context['proxy-url']),
  };
}

function textOf(value: unknown): string | undefined {
  return typeof value === 'string' && value !== '' ? value : undefined;
}

function textsOf(value: unknown): string[] {
  return Array.isArray(value) ? value.flatMap((one) => textOf(one) ?? []) : [];
}

function decoded(value: unknown): string | undefined {
  const text = textOf(value);
  if (text === undefined) return undefined;
  const pem = Buffer.from(text, 'base64').toString('utf8');
  return pem.includes('-----BEGIN ') ? pem : undefined;
}

/** Where apid listens (constants.ApidPort of Talos). */
export const APID_PORT = 50_000;

/** An address as talosctl takes it: `host`, `host:port`, `[::1]:port`, or a URL, whose port is that of https. */
export function parseEndpoint(text: string): { readonly host: string; readonly port: number } {
  const [, scheme, rest = ''] = /^(?:([a-z]+):\/\/)?([^/]*)/i.exec(text) ?? [];
  const standard = scheme?.toLowerCase() === 'https' ? 443 : APID_PORT;
  if (isIPv6(rest)) return { host: rest, port: standard };
  const [, bracketed, plain = '', port] = /^(?:\[(.*)\]|([^:]*))(?::(\d+))?$/.exec(rest) ?? [];
  return { host: bracketed ?? (plain || rest), port: port === undefined ? standard : Number(port) };
}
