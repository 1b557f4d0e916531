import type { ClientHttp2Stream } from 'node:http2';
import { fromBinary, type Message } from '@bufbuild/protobuf';
import { Code, ConnectError } from '@connectrpc/connect';
import { createGrpcTransport, Http2SessionManager } from '@connectrpc/connect-node';
import { checkServerIdentity } from '../../certs/certificate-names.ts';
import { messageOf } from '../../runtime/error-message.ts';
import type { MachineConfiguration } from '../../talos/machine-configuration.ts';
import { hostPort } from '../facts/dial.ts';
import { type Fields, type GetResponse, TALOS, type VersionResponse } from './apid-messages.ts';
import type { ApidAddress, ClientIdentity } from './dial-apid.ts';

/** A node to call, and the address to call. */
export interface CalledNode {
  /** The name or address under which the user knows it. */
  readonly name: string;
  /** The node, or an endpoint that passes the call on. */
  readonly at: ApidAddress;
  /** Other endpoints, to try in this order if `at` passes no calls on. */
  readonly otherwise: readonly ApidAddress[];
  /** Whether the address is that of an endpoint. */
  readonly isForwarded: boolean;
  /** An unknown CA issued its certificate: it is in maintenance mode, or another machine. It is called without our certificate. */
  readonly mayBeInMaintenance: boolean;
}

/**
 * Why a call has no answer, by the status of gRPC or by the answer. `not forwarded`: the endpoint is a worker, which passes no calls on.
 * `interrupted`: the connection or the stream ended before the answer did.
 */
export type CallFault =
  | 'denied'
  | 'not forwarded'
  | 'unimplemented'
  | 'absent'
  | 'silent'
  | 'unavailable'
  | 'interrupted'
  | 'too large'
  | 'garbled';

export type Called<T> =
  | { readonly ok: true; readonly value: T }
  /** The message never quotes the configuration, which has secrets. */
  | { readonly ok: false; readonly fault: CallFault; readonly message: string };

/** The answers of a node. */
export interface NodeAnswer<Configuration = MachineConfiguration> extends CalledNode {
  /** The tag, such as `v1.13.2`. */
  readonly version: Called<string>;
  /** The configuration in force. Undefined if it was not asked for. */
  readonly configuration: Called<Configuration> | undefined;
}

/** How Talos' API is called. */
export interface Calling {
  /** The CA that must have issued the certificate of the server, PEM. */
  readonly ca: string | undefined;
  readonly identity: ClientIdentity;
  readonly timeoutMs: number;
  /** Whether to read the configuration, which needs the role os:admin. */
  readonly readsConfiguration: boolean;
}

/** A resource has the configuration twice, and a configuration may have 2 MiB. */
const MAX_ANSWER_BYTES = 8 * 1024 * 1024;

/** What nodes and endpoints said. */
export interface TalosAnswers<Configuration = MachineConfiguration> {
  readonly nodes: readonly NodeAnswer<Configuration>[];
  /** The endpoints that are workers: they pass no calls on to other nodes. */
  readonly workers: readonly ApidAddress[];
}

/**
 * Reads the version and the configuration of all nodes, and asks each endpoint whether it passes calls on, all in parallel and with a time limit for
 * each. Changes nothing.
 * @returns configurations as text
 */
export async function askTalos(
  nodes: readonly CalledNode[],
  endpoints: readonly ApidAddress[],
  calling: Calling,
): Promise<TalosAnswers<string>> {
  const connections = new Map<string, Connection>();
  const connectionTo: Connect = ({ host, port }, mayBeInMaintenance) => {
    const url = `https://${hostPort(host, port)}`;
    const connection = connections.get(url) ?? connect(url, mayBeInMaintenance, calling);
    connections.set(url, connection);
    return connection;
  };
  try {
    const [answers, workers] = await Promise.all([
      Promise.all(nodes.map((node) => askNode(node, connectionTo, calling))),
      Promise.all(endpoints.map(async (at) => ((await isWorker(connectionTo(at, false))) ? [at] : []))),
    ]);
    return { nodes: answers, workers: workers.flat() };
  } finally {
    for (const { sessions } of connections.values()) sessions.abort();
  }
}

type Connection = ReturnType<typeof connect>;
type Connect = (at: ApidAddress, mayBeInMaintenance: boolean) => Connection;

function connect(url: string, mayBeInMaintenance: boolean, { ca, identity, timeoutMs }: Calling) {
  const trust =
    mayBeInMaintenance || ca === undefined ? { rejectUnauthorized: !mayBeInMaintenance } : { ca, ...identity };
  const sessions = new Sessions(url, {}, { ...trust, checkServerIdentity });
  const transport = createGrpcTransport({
    baseUrl: url,
    sessionManager: sessions,
    readMaxBytes: MAX_ANSWER_BYTES,
    // A small compressed answer could decompress to a large one.
    acceptCompression: [],
    defaultTimeoutMs: timeoutMs,
  });
  return { sessions, transport };
}

/**
 * Ends each request with the frame that has its message. By default the end is a frame of its own. apid answers before that frame and then
 * resets the stream (RST_STREAM with NO_ERROR, RFC 9113, 8.1), which Node.js takes for an aborted answer.
 */
class Sessions extends Http2SessionManager {
  override async request(...args: Parameters<Http2SessionManager['request']>): Promise<ClientHttp2Stream> {
    const stream = await super.request(...args);
    let hasResponse = false;
    stream.once('response', () => {
      hasResponse = true;
    });
    // Without this, the call would wait for its whole time limit: a reset with NO_ERROR is no error to Node.js.
    stream.once('close', () => {
      if (!hasResponse) stream.emit('error', new Interruption('the stream was closed before the answer'));
    });
    const write = stream.write.bind(stream) as (chunk: Uint8Array) => boolean;
    // Nothing is sent until the end of the request.
    stream.cork();
    stream.write = (chunk: Uint8Array, _encoding?: unknown, done?: (error?: null) => void) => {
      const isWritten = write(chunk);
      queueMicrotask(() => done?.(null));
      return isWritten;
    };
    return stream;
  }
}

/** @param node the one to which an endpoint passes the call on; undefined for the machine itself */
async function call<T extends Message>(
  { transport }: Connection,
  node: string | undefined,
  service: string,
  method: string,
  fields: Fields,
): Promise<T> {
  const described = TALOS.getService(service)?.method[method];
  if (!described) throw new Error(`there is no ${service}/${method}`);
  // The header `nodes`, for several at once, is deprecated, and its answer waits for the slowest node.
  const header = node === undefined ? {} : { node };
  return (await transport.unary(described as never, undefined, undefined, header, fields)).message as unknown as T;
}

/** The name of no node. It is not resolved or dialled either, because `%` is in no valid target of grpc-go. */
const NO_NODE = '%';

/** Whether it refuses to pass a call on. A control plane fails in another way, because there is no such node (Router of Talos' apid). */
async function isWorker(connection: Connection): Promise<boolean> {
  const answer = await called(() => call(connection, NO_NODE, 'machine.MachineService', 'version', {}));
  return !answer.ok && answer.fault === 'not forwarded';
}

async function askNode(node: CalledNode, connectionTo: Connect, calling: Calling): Promise<NodeAnswer<string>> {
  const answer = await askAt(node, connectionTo(node.at, node.mayBeInMaintenance), calling);
  const [at, ...otherwise] = node.otherwise;
  const isRefused = !answer.version.ok && answer.version.fault === 'not forwarded';
  return isRefused && at !== undefined ? askNode({ ...node, at, otherwise }, connectionTo, calling) : answer;
}

async function askAt(node: CalledNode, connection: Connection, calling: Calling): Promise<NodeAnswer<string>> {
  const callNode = <T extends Message>(service: string, method: string, fields: Fields) =>
    call<T>(connection, node.isForwarded ? node.name : undefined, service, method, fields);
  const get = async (namespace: string, type: string, id: string, spec: string): Promise<Fields | undefined> => {
    const { resource } = await callNode<GetResponse>('cosi.resource.State', 'get', { namespace, type, id });
    const described = TALOS.getMessage(spec);
    return resource?.spec && described && (fromBinary(described, resource.spec.protoSpec) as unknown as Fields);
  };
  const version = called(async () => {
    const { messages } = await callNode<VersionResponse>('machine.MachineService', 'version', {});
    return nonEmpty(messages[0]?.version?.tag);
  }).then((answer) =>
    // Up to 1.12, a machine in maintenance mode has its version only as a resource, which came with 1.10.
    answer.ok || !node.mayBeInMaintenance
      ? answer
      : called(async () =>
          nonEmpty((await get('runtime', 'Versions.runtime.talos.dev', 'version', 'machine.VersionSpec'))?.version),
        ),
  );
  if (!calling.readsConfiguration || node.mayBeInMaintenance)
    return { ...node, version: await version, configuration: undefined };
  const configuration = called(async () => {
    const spec = await get('config', 'MachineConfigs.config.talos.dev', 'v1alpha1', 'machine.MachineConfigSpec');
    return nonEmpty(new TextDecoder().decode(spec?.yamlMarshalled as unknown as Uint8Array));
  });
  return { ...node, version: await version, configuration: await configuration };
}

class EmptyAnswer extends Error {}

/** @throws EmptyAnswer */
function nonEmpty(text: string | undefined): string {
  if (!text) throw new EmptyAnswer('there is nothing in the answer');
  return text;
}

const FAULTS: Partial<Record<Code, CallFault>> = {
  [Code.PermissionDenied]: 'denied',
  [Code.Unauthenticated]: 'denied',
  [Code.Unimplemented]: 'unimplemented',
  [Code.NotFound]: 'absent',
  [Code.DeadlineExceeded]: 'silent',
  [Code.Unavailable]: 'unavailable',
  [Code.ResourceExhausted]: 'too large',
};

/** The limit for a message of the other side. */
const MAX_MESSAGE_CHARACTERS = 200;

/** The connection or the stream ended before the answer did. */
class Interruption extends Error {}

/**
 * Waits for a call, and repeats it once if it is interrupted: apid resets streams now and then while the machine is busy. An error never quotes the
 * answer, which may be secret.
 */
async function called<T>(work: () => Promise<T>): Promise<Called<T>> {
  const first = await attempt(work);
  return first.ok || first.fault !== 'interrupted' ? first : attempt(work);
}

async function attempt<T>(work: () => Promise<T>): Promise<Called<T>> {
  try {
    return { ok: true, value: await work() };
  } catch (error) {
    if (error instanceof EmptyAnswer) return { ok: false, fault: 'garbled', message: error.message };
    if (!(error instanceof ConnectError)) return { ok: false, fault: 'garbled', message: 'it cannot be read' };
    const message = (error.cause ? messageOf(error.cause) : error.rawMessage).slice(0, MAX_MESSAGE_CHARACTERS);
    return { ok: false, fault: faultOf(error), message };
  }
}

function faultOf(error: ConnectError): CallFault {
  if (isInterruption(error)) return 'interrupted';
  if (error.code === Code.PermissionDenied && error.rawMessage.includes('no request forwarding'))
    return 'not forwarded';
  // Below HTTP, such as an alert of TLS.
  return FAULTS[error.code] ?? (error.cause ? 'unavailable' : 'garbled');
}

/** What connect says of an answer that ends within its message, or before the trailers, which have the status. */
const CUT_OFF: readonly string[] = ['protocol error: incomplete envelope', 'protocol error: missing status'];

function isInterruption({ code, cause, rawMessage }: ConnectError): boolean {
  const { code: reason } = (cause ?? {}) as NodeJS.ErrnoException;
  return (
    cause instanceof Interruption ||
    /^(ERR_HTTP2_|ERR_STREAM_|ECONNRESET$|EPIPE$)/.test(String(reason)) ||
    code === Code.Canceled ||
    code === Code.Aborted ||
    CUT_OFF.includes(rawMessage)
  );
}
