import { once } from 'node:events';
import type { IncomingMessage } from 'node:http';
import { Agent, request } from 'node:https';
import { text } from 'node:stream/consumers';
import type { KeyPair } from './credentials.ts';

const REQUEST_TIMEOUT_MS = 30_000;
/** The API server closes a connection that was idle for 90 s: a request that is sent at that moment gets no answer. */
const IDLE_MS = 60_000;

/** An answer of the API server. */
export interface Answer<T = unknown> {
  status: number;
  /** Parsed where the server says that it is JSON, else the text. */
  body: T;
  /** The texts of the Warning headers, as kubectl would show them. */
  warnings: string[];
  /** What the audit log calls this request. */
  auditId: string | undefined;
}

/** The body of an answer that has to be a success. @throws Error with the status and the body for another one */
export async function succeeded<T>(answer: Promise<Answer<T>>): Promise<T> {
  const { status, body } = await answer;
  if (status >= 300) throw new Error(`HTTP ${status}: ${JSON.stringify(body)}`);
  return body;
}

/** What a request carries; a string is sent as it is, anything else as JSON. */
export interface Payload {
  body?: unknown;
  /** `application/json` unless said otherwise, as for a patch. */
  contentType?: string;
  /** More headers, such as those of impersonation; not ASCII is sent as UTF-8. */
  headers?: Readonly<Record<string, string | readonly string[]>>;
}

/** Sends requests as one identity, over connections that are kept. */
export interface RestClient {
  /** @throws Error when there is no answer within 30 s, or no connection */
  request<T = unknown>(method: string, path: string, payload?: Payload): Promise<Answer<T>>;
  close(): void;
}

/**
 * @param url where the server listens, without a path
 * @param identity left out, nobody is presented
 */
export function createRestClient(url: string, ca: string, identity?: KeyPair): RestClient {
  const agent = new Agent({ keepAlive: true, timeout: IDLE_MS, ca, ...identity });
  return {
    request: async (method, path, { body, contentType = 'application/json', headers = {} } = {}) => {
      const sent = typeof body === 'string' || body === undefined ? body : JSON.stringify(body);
      const outgoing = request(`${url}${path}`, {
        method,
        agent,
        headers: { ...(sent === undefined ? {} : contentHeaders(sent, contentType)), ...inUtf8(headers) },
        signal: AbortSignal.timeout(REQUEST_TIMEOUT_MS),
      });
      outgoing.end(sent);
      const [response] = (await once(outgoing, 'response').catch((cause: Error) => {
        const connection = outgoing.reusedSocket ? 'a connection that was used before' : 'a new connection';
        throw new Error(`${method} ${path}, by ${connection}: ${cause.message}`, { cause });
      })) as [IncomingMessage];
      const content = await text(response);
      const isJson = response.headers['content-type']?.startsWith('application/json');
      return {
        status: response.statusCode ?? 0,
        body: isJson ? JSON.parse(content) : content,
        warnings: (response.headersDistinct.warning ?? []).map(warningText),
        auditId: response.headersDistinct['audit-id']?.[0],
      };
    },
    close: () => agent.destroy(),
  };
}

/** Node.js tells of no DELETE that a body follows: the server would take it for the beginning of the next request. */
function contentHeaders(content: string, type: string): Record<string, string | number> {
  return { 'content-type': type, 'content-length': Buffer.byteLength(content) };
}

/** Node.js writes one byte for each character of a header. */
function inUtf8(headers: NonNullable<Payload['headers']>): Record<string, string | string[]> {
  const bytes = (text: string) => Buffer.from(text).toString('latin1');
  return Object.fromEntries(
    Object.entries(headers).map(([name, value]) => [name, typeof value === 'string' ? bytes(value) : value.map(bytes)]),
  );
}

/** RFC 7234, 5.5: `299 - "text"`, where a backslash quotes the next character. */
function warningText(header: string): string {
  const quoted = /^\d{3} \S+ "((?:[^"\\]|\\.)*)"/.exec(header)?.[1];
  return quoted?.replace(/\\(.)/g, '$1') ?? header;
}
