import type { Message } from '@bufbuild/protobuf';
import { createGrpcTransport } from '@connectrpc/connect-node';
import { checkServerIdentity } from '../../certs/certificate-names.ts';
import type { MachineConfiguration } from '../../talos/machine-configuration.ts';
import { hostPort } from '../facts/dial.ts';
import { type CallName, type Calls, methodOf, type ResourceSpecs, readSpec } from './apid-messages.ts';
import { ApidSessions } from './apid-sessions.ts';
import { type CallResult, EmptyAnswer, tryCall } from './call-result.ts';
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

/** The answers of a node. */
export interface NodeAnswer<Configuration = MachineConfiguration> extends CalledNode {
  /** The tag, such as `v1.13.2`. */
  readonly version: CallResult<string>;
  /** The configuration in force. Undefined if it was not asked for. */
  readonly configuration: CallResult<Configuration> | undefined;
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
  const sessions = new ApidSessions(url, {}, { ...trust, checkServerIdentity });
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

/** @param node the one to which an endpoint passes the call on; undefined for the machine itself */
async function call<Name extends CallName>(
  { transport }: Connection,
  node: string | undefined,
  name: Name,
  request: Calls[Name]['request'],
): Promise<Calls[Name]['response']> {
  // The header `nodes`, for several at once, is deprecated, and its answer waits for the slowest node.
  const header = node === undefined ? {} : { node };
  const { message } = await transport.unary(methodOf(name), undefined, undefined, header, { ...request });
  return message as Message & Calls[Name]['response'];
}

/** The name of no node. It is not resolved or dialled either, because `%` is in no valid target of grpc-go. */
const NO_NODE = '%';

/** Whether it refuses to pass a call on. A control plane fails in another way, because there is no such node (Router of Talos' apid). */
async function isWorker(connection: Connection): Promise<boolean> {
  const answer = await tryCall(() => call(connection, NO_NODE, 'version', {}));
  return !answer.ok && answer.fault === 'not forwarded';
}

async function askNode(node: CalledNode, connectionTo: Connect, calling: Calling): Promise<NodeAnswer<string>> {
  const answer = await askAt(node, connectionTo(node.at, node.mayBeInMaintenance), calling);
  const [at, ...otherwise] = node.otherwise;
  const isRefused = !answer.version.ok && answer.version.fault === 'not forwarded';
  return isRefused && at !== undefined ? askNode({ ...node, at, otherwise }, connectionTo, calling) : answer;
}

const OWN_VERSION = { namespace: 'runtime', type: 'Versions.runtime.talos.dev', id: 'version' };
const CONFIGURATION_IN_FORCE = { namespace: 'config', type: 'MachineConfigs.config.talos.dev', id: 'v1alpha1' };

async function askAt(node: CalledNode, connection: Connection, calling: Calling): Promise<NodeAnswer<string>> {
  const callNode = <Name extends CallName>(name: Name, request: Calls[Name]['request']) =>
    call(connection, node.isForwarded ? node.name : undefined, name, request);
  const get = async <Name extends keyof ResourceSpecs>(name: Name, request: Calls['get']['request']) => {
    const { resource } = await callNode('get', request);
    return resource?.spec && readSpec(name, resource.spec.protoSpec);
  };
  const version = tryCall(async () => {
    const { messages } = await callNode('version', {});
    return nonEmpty(messages[0]?.version?.tag);
  }).then((answer) =>
    // Up to 1.12, a machine in maintenance mode has its version only as a resource, which came with 1.10.
    answer.ok || !node.mayBeInMaintenance
      ? answer
      : tryCall(async () => nonEmpty((await get('machine.VersionSpec', OWN_VERSION))?.version)),
  );
  if (!calling.readsConfiguration || node.mayBeInMaintenance)
    return { ...node, version: await version, configuration: undefined };
  const configuration = tryCall(async () => {
    const spec = await get('machine.MachineConfigSpec', CONFIGURATION_IN_FORCE);
    return nonEmpty(new TextDecoder().decode(spec?.yamlMarshalled));
  });
  return { ...node, version: await version, configuration: await configuration };
}

/** @throws EmptyAnswer */
function nonEmpty(text: string | undefined): string {
  if (!text) throw new EmptyAnswer('there is nothing in the answer');
  return text;
}
