import { InputError } from '../files/input-error.ts';
import { readablePrivateKey } from '../files/private-key.ts';
import { isMapping } from '../kubernetes/json.ts';
import { parseTalosDocuments, textAt } from './document-values.ts';

/** The fields of one context of a talosconfig that say how to reach a cluster (`Context` of Talos' client). */
export interface TalosContext {
  readonly name: string;
  /** The other contexts of the file. */
  readonly others: readonly string[];
  readonly endpoints: readonly string[];
  /** The nodes that talosctl calls by default. */
  readonly nodes: readonly string[];
  /** PEM, the key in a form that Node.js reads. Undefined if the context has none, or invalid Base64. */
  readonly ca: string | undefined;
  readonly crt: string | undefined;
  readonly key: string | undefined;
  /** Another way of authentication: such a context needs no certificate. */
  readonly otherAuth: 'basic' | 'siderov1' | undefined;
  /** The proxy of talosctl; undefined for none. */
  readonly proxy: string | undefined;
}

/**
 * The named context, or the current one.
 * @param source names the text
 * @throws InputError; it quotes only names of contexts, because the rest may be secret
 */
export function readTalosContext(text: string, source: string, asked: string | undefined): TalosContext {
  const [document] = parseTalosDocuments(text, source);
  const value = document?.value;
  if (!document || !isMapping(value) || !isMapping(value.contexts)) {
    throw new InputError([`${source}: this is no talosconfig: it has no contexts`]);
  }
  const names = Object.keys(value.contexts);
  const name = asked ?? textAt(document, ['context']) ?? '';
  const context = Object.hasOwn(value.contexts, name) ? value.contexts[name] : undefined;
  const contexts = names.length > 0 ? `it has ${names.join(', ')}` : 'it has none';
  if (name === '')
    throw new InputError([`${source}: no context is chosen, and ${contexts}: talosctl config context NAME`]);
  if (!isMapping(context)) throw new InputError([`${source}: there is no context ${name}: ${contexts}`]);
  const auth = isMapping(context.auth) ? context.auth : {};
  return {
    name,
    others: names.filter((other) => other !== name),
    endpoints: [...textsOf(context.endpoints), ...textsOf([context.target])],
    nodes: textsOf(context.nodes),
    ca: decoded(context.ca),
    crt: decoded(context.crt),
    key: privateKey(context.key),
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

function privateKey(value: unknown): string | undefined {
  const pem = decoded(value);
  return pem === undefined ? undefined : readablePrivateKey(pem);
}
