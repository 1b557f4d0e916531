import type { IncomingHttpHeaders, IncomingMessage } from 'node:http';
import { type Deadline, limitSilence, startDeadline, TimeoutError } from '../../runtime/deadline.ts';
import { messageOf } from '../../runtime/error-message.ts';
import { pause } from '../../runtime/pause.ts';
import { AnswerTooLongError, ApiError, toApiError } from './api-error.ts';
import { importKubeConfig } from './client-node.ts';
import { jsonLines } from './json-lines.ts';
import { type ClusterChoice, findConfig, loadConfig, podNamespace } from './kube-config.ts';
import { parseRetryAfter } from './retry-after.ts';
import { type ServerClock, serverClock } from './server-clock.ts';
import { streamsInDoubt } from './streams-in-doubt.ts';
import { type ApiServerPlace, createTransport, type Transport } from './transport.ts';

const REQUEST_TIMEOUT_MS = 10_000;
/** The API server sends the head of a watch as soon as it accepts it. */
const OPEN_TIMEOUT_MS = 10_000;
const UNAUTHORIZED = 401;
const TOO_MANY_REQUESTS = 429;
const JSON_TYPE = 'application/json';
/** More of an answer with an error status is not read. A Status has a few KB, with a line for each invalid field. */
const MOST_ERROR_BYTES = 256 * 1024;

/** Undefined entries are left out. */
export type Query = Readonly<Record<string, string | number | boolean | undefined>>;

export interface RequestOptions {
  query?: Query | undefined;
  /** Sent as JSON. */
  body?: unknown;
  /** Default `application/json`; patches name theirs. */
  contentType?: string;
  /** The accepted content type. Default `application/json`; any other answer is returned as text. */
  accept?: string;
  signal?: AbortSignal | undefined;
  /** From the call to the last byte of the answer, credentials included. */
  timeoutMs?: number;
  /** The longest accepted answer, in bytes. Reading a longer one stops with {@link AnswerTooLongError}, and closes its connection. */
  mostBytes?: number | undefined;
  /** Reads the answer to its end and does not keep it: the result is undefined. For writes whose answer is a large object. */
  ignoreAnswer?: boolean;
  /** Called with the headers of the answer, with any status. */
  onHeaders?: (headers: IncomingHttpHeaders) => void;
  /** Called with the length of the answer, in bytes. */
  onLength?: (bytes: number) => void;
}

export interface LinesOptions {
  query?: Query | undefined;
  signal?: AbortSignal | undefined;
  /** A stream without a byte for this long ends with an error. */
  idleMs: number;
  /** Called once the server has accepted the request. */
  onOpen?: () => void;
}

/** Raw JSON to and from the API server, without typed models, which lose unknown fields. */
export interface ApiClient {
  /**
   * One request. If the API server is busy and names a time (429 with Retry-After), the request is sent again then, within its timeout.
   * @param path without the query
   * @throws ApiError for any status from 300 on; AnswerTooLongError; Error for a failed connection or a timeout, with method and path in its message,
   * and without secrets
   */
  request<T = unknown>(
    method: 'GET' | 'POST' | 'PUT' | 'PATCH' | 'DELETE',
    path: string,
    options?: RequestOptions,
  ): Promise<T>;
  /**
   * The lines of an answer, each parsed as JSON (a watch). Ends when the server ends it.
   * @throws as {@link request}, and Error if no byte came for `idleMs`, or the API server was unreachable meanwhile
   */
  lines(path: string, options: LinesOptions): AsyncIterable<unknown>;
  /** The namespace of the pod whose service account it uses; undefined with a kubeconfig. */
  readonly namespace: string | undefined;
  /** The API server's URL. */
  readonly server: string;
  /** See {@link ServerClock.now}. */
  now(): Date;
  /** See {@link ServerClock.isConfirmed}. */
  isClockConfirmed(): boolean;
  /** Closes all connections. Requests in flight fail. */
  close(): void;
}

/** A client that knows the configuration of the user. */
export interface UserClient extends ApiClient {
  /**
   * A client for one of several API servers of the cluster, with the same credentials. The caller closes it.
   * @throws Error if the configuration does not verify API servers
   */
  at(place: ApiServerPlace): ApiClient;
}

/**
 * A client for the cluster of the configuration: the file, else KUBECONFIG, else the pod's service account, else
 * `~/.kube/config`. It sends nothing yet.
 * @throws InputError with a remedy if there is no usable configuration
 */
export async function connect({
  userAgent,
  ...choice
}: ClusterChoice & { readonly userAgent: string }): Promise<UserClient> {
  const source = findConfig(choice);
  const { KubeConfig } = await importKubeConfig();
  const load = () => loadConfig(source, KubeConfig);
  const config = load();
  return createApiClient(createTransport(config, load), {
    userAgent,
    server: config.getCurrentCluster()?.server ?? '',
    namespace: podNamespace(source, config),
  });
}

function createApiClient(
  transport: Transport,
  about: { userAgent: string; server: string; namespace: string | undefined },
): UserClient {
  const clock = serverClock();
  const streams = streamsInDoubt();

  async function open(
    method: string,
    path: string,
    { query, body, contentType = JSON_TYPE, accept = JSON_TYPE, onHeaders }: RequestOptions,
    deadline: Deadline,
  ): Promise<IncomingMessage> {
    const { signal } = deadline;
    const content = body === undefined ? undefined : JSON.stringify(body);
    const headers = {
      accept,
      'user-agent': about.userAgent,
      ...(content === undefined
        ? {}
        : { 'content-type': contentType, 'content-length': String(Buffer.byteLength(content)) }),
    };
    const wire = { method, target: path + queryText(query), headers, body: content };
    for (;;) {
      const response = await transport.send(wire, signal);
      clock.heard(response.headers.date);
      streams.answered();
      onHeaders?.(response.headers);
      const { statusCode = 0 } = response;
      if (statusCode >= 200 && statusCode < 300) return response;
      if (statusCode === UNAUTHORIZED) transport.reload();
      // The API server has not begun to process it, whatever the method. Any other answer may have had an effect.
      const retryAfterMs =
        statusCode === TOO_MANY_REQUESTS ? parseRetryAfter(response.headers['retry-after'], clock.now()) : undefined;
      const message = (await readBytes(response, MOST_ERROR_BYTES)).toString('utf8');
      const error = toApiError(method, path, statusCode, message, retryAfterMs);
      if (retryAfterMs === undefined || retryAfterMs >= deadline.leftMs()) throw error;
      await pause(retryAfterMs, signal);
      signal.throwIfAborted();
    }
  }

  /**
   * Closes connections that may be dead after a failure.
   * @param since when the request was sent, or its answer last received bytes
   */
  function closeDoubtful(cause: unknown, since: number): void {
    if (cause instanceof TimeoutError) transport.closeUnused();
    if (isSilence(cause)) streams.silent(since);
  }

  return {
    server: about.server,
    namespace: about.namespace,
    now: clock.now,
    isClockConfirmed: clock.isConfirmed,
    async request<T>(method: string, path: string, options: RequestOptions = {}): Promise<T> {
      const { timeoutMs = REQUEST_TIMEOUT_MS } = options;
      const sentAt = performance.now();
      const deadline = startDeadline(timeoutMs, `no answer within ${timeoutMs} ms`, options.signal);
      try {
        const response = await open(method, path, options, deadline);
        if (options.ignoreAnswer) return (await skip(response)) as T;
        const content = await readText(response, { ...options, method, path });
        if ((options.accept ?? JSON_TYPE) !== JSON_TYPE) return content as T;
        return (content === '' ? undefined : JSON.parse(content)) as T;
      } catch (error) {
        const cause = causeOf(error, deadline.signal);
        closeDoubtful(cause, sentAt);
        throw namedFailure(cause, method, path);
      } finally {
        deadline.clear();
      }
    },
    async *lines(path, { query, signal, idleMs, onOpen }) {
      const openMs = Math.min(OPEN_TIMEOUT_MS, idleMs);
      const deadline = startDeadline(openMs, `not accepted within ${openMs} ms`, signal);
      let response: IncomingMessage | undefined;
      let receivedAt = performance.now();
      const onBytes = (stream: IncomingMessage) => {
        receivedAt = performance.now();
        streams.received(stream);
      };
      try {
        response = await open('GET', path, { query }, deadline);
        streams.add(response);
        onOpen?.();
        yield* jsonLines(limitSilence(followed(response, onBytes), deadline, idleMs, `no byte for ${idleMs} ms`));
      } catch (error) {
        const cause = causeOf(error, deadline.signal);
        closeDoubtful(cause, receivedAt);
        throw namedFailure(cause, 'GET', path);
      } finally {
        deadline.clear();
        // A stream that was read to its end has returned its connection to the pool. Any other is unusable.
        response?.destroy();
        if (response) streams.delete(response);
      }
    },
    at: (place) => createApiClient(transport.at(place), { ...about, server: `https://${place.address}` }),
    close: () => transport.close(),
  };
}

/**
 * The whole answer as text. It is collected in buffers, which are outside of V8's heap: in the heap, there is only one copy of the text.
 * @throws AnswerTooLongError
 */
async function readText(
  response: IncomingMessage,
  {
    method,
    path,
    mostBytes = Number.POSITIVE_INFINITY,
    onLength,
  }: Pick<RequestOptions, 'mostBytes' | 'onLength'> & { readonly method: string; readonly path: string },
): Promise<string> {
  const content = await readBytes(response, mostBytes);
  if (content.length > mostBytes) throw new AnswerTooLongError(method, path, mostBytes);
  onLength?.(content.length);
  return content.toString('utf8');
}

/** The answer, or a little more than the first `mostBytes` of a longer one, whose connection is then closed. */
async function readBytes(response: IncomingMessage, mostBytes: number): Promise<Buffer> {
  const chunks: Buffer[] = [];
  let bytes = 0;
  // Leaving the loop destroys the response, and its connection.
  for await (const chunk of response as AsyncIterable<Buffer>) {
    bytes += chunk.length;
    chunks.push(chunk);
    if (bytes > mostBytes) break;
  }
  return Buffer.concat(chunks, bytes);
}

/** The bytes of a stream. Each time some arrive, `onBytes` is called. */
async function* followed(stream: IncomingMessage, onBytes: (stream: IncomingMessage) => void): AsyncGenerator<Buffer> {
  for await (const chunk of stream as AsyncIterable<Buffer>) {
    onBytes(stream);
    yield chunk;
  }
}

/** Reads to the end: the connection is used again. */
async function skip(response: IncomingMessage): Promise<void> {
  for await (const _chunk of response);
}

function queryText(query: Query = {}): string {
  const parameters = new URLSearchParams();
  for (const [name, value] of Object.entries(query)) if (value !== undefined) parameters.set(name, String(value));
  return parameters.size === 0 ? '' : `?${parameters}`;
}

/** The error, or why the request was aborted. */
function causeOf(error: unknown, { aborted, reason }: AbortSignal): unknown {
  return aborted ? reason : error;
}

/** A failure whose message has the method and the path. */
function namedFailure(cause: unknown, method: string, path: string): unknown {
  if (cause instanceof ApiError || cause instanceof AnswerTooLongError) return cause;
  return new Error(`${method} ${path}: ${messageOf(cause)}`, { cause });
}

/** There was no answer, neither from the API server nor, as a refusal, from its machine. */
function isSilence(error: unknown): boolean {
  const { code } = error as NodeJS.ErrnoException;
  return error instanceof TimeoutError || ['ETIMEDOUT', 'EHOSTUNREACH', 'ENETUNREACH'].includes(code ?? '');
}
