import type { ClientHttp2Stream } from 'node:http2';
import { createFileRegistry, fromBinary, fromJson, type Message } from '@bufbuild/protobuf';
import { FileDescriptorSetSchema } from '@bufbuild/protobuf/wkt';
import { Code, ConnectError } from '@connectrpc/connect';
import { createGrpcTransport, Http2SessionManager } from '@connectrpc/connect-node';
import type { MachineConfiguration } from '../talos/machine-configuration.ts';
import type { ClientIdentity } from './dial-apid.ts';

/** A node that is asked, and the address at which it is. */
export interface AskedNode {
  /** As whoever asks calls it. */
  readonly name: string;
  /** Where Talos' API is dialled: the node, or an endpoint that passes it on. */
  readonly at: { readonly host: string; readonly port: number };
  /** Whether the address is that of another machine, which passes it on. */
  readonly isForwarded: boolean;
  /** Its certificate is of a CA that is not known: it is in maintenance mode, or somebody else. It is asked without ours. */
  readonly mayBeInMaintenance: boolean;
}

/** Why a call has no answer: by what gRPC calls it, or by what came back. */
export type CallFault = 'denied' | 'unimplemented' | 'absent' | 'silent' | 'unavailable' | 'too large' | 'garbled';

export type Called<T> =
  | { readonly ok: true; readonly value: T }
  /** Nothing of the message is of the configuration. */
  | { readonly ok: false; readonly fault: CallFault; readonly message: string };

/** What a node says of itself. */
export interface NodeAnswer<Configuration = MachineConfiguration> extends AskedNode {
  /** The tag, such as `v1.13.2`. */
  readonly version: Called<string>;
  /** That in force; undefined where nobody asked for it. */
  readonly configuration: Called<Configuration> | undefined;
}

/** How Talos' API is called. */
export interface Calling {
  /** Whose certificates are trusted, PEM. */
  readonly ca: string | undefined;
  readonly identity: ClientIdentity;
  readonly timeoutMs: number;
  /** Whether the configuration is read, which takes os:admin. */
  readonly wantsConfiguration: boolean;
}

/** A resource has the configuration twice; ours may be of 2 MiB. */
const MAX_ANSWER_BYTES = 8 * 1024 * 1024;

const field = (name: string, number: number, type: string) => ({ name, number, type, label: 'LABEL_OPTIONAL' });
const text = (name: string, number: number) => field(name, number, 'TYPE_STRING');
const bytes = (name: string, number: number) => field(name, number, 'TYPE_BYTES');
const part = (name: string, number: number, typeName: string) => ({ ...field(name, number, 'TYPE_MESSAGE'), typeName });

/** What we need of api/machine/machine.proto and api/resource/definitions of Talos, and of cosi.resource of cosi-project/runtime. */
const TALOS = createFileRegistry(
  fromJson(FileDescriptorSetSchema, {
    file: [
      {
        name: 'machine.proto',
        syntax: 'proto3',
        package: 'machine',
        messageType: [
          { name: 'Nothing' },
          { name: 'VersionInfo', field: [text('tag', 1)] },
          { name: 'Version', field: [part('version', 2, '.machine.VersionInfo')] },
          {
            name: 'VersionResponse',
            field: [{ ...part('messages', 1, '.machine.Version'), label: 'LABEL_REPEATED' }],
          },
          { name: 'MachineConfigSpec', field: [bytes('yaml_marshalled', 1)] },
          { name: 'VersionSpec', field: [text('version', 1)] },
        ],
        service: [
          {
            name: 'MachineService',
            method: [{ name: 'Version', inputType: '.machine.Nothing', outputType: '.machine.VersionResponse' }],
          },
        ],
      },
      {
        name: 'state.proto',
        syntax: 'proto3',
        package: 'cosi.resource',
        messageType: [
          { name: 'GetRequest', field: [text('namespace', 1), text('type', 2), text('id', 3)] },
          { name: 'Spec', field: [bytes('proto_spec', 1)] },
          { name: 'Resource', field: [part('spec', 2, '.cosi.resource.Spec')] },
          { name: 'GetResponse', field: [part('resource', 1, '.cosi.resource.Resource')] },
        ],
        service: [
          {
            name: 'State',
            method: [{ name: 'Get', inputType: '.cosi.resource.GetRequest', outputType: '.cosi.resource.GetResponse' }],
          },
        ],
      },
    ],
  }),
);

type VersionResponse = Message & { readonly messages: readonly { readonly version?: { readonly tag: string } }[] };
type GetResponse = Message & { readonly resource?: { readonly spec?: { readonly protoSpec: Uint8Array } } };
type Fields = Readonly<Record<string, string>>;

/**
 * Asks nodes for their version, and for their configuration; all at once. Each has the whole time, which one that is silent takes
 * from no other. Only reading calls are made.
 * @returns configurations as text
 */
export async function askNodes(nodes: readonly AskedNode[], calling: Calling): Promise<NodeAnswer<string>[]> {
  const connections = new Map<string, Connection>();
  const connectionTo = (node: AskedNode): Connection => {
    const { host, port } = node.at;
    const url = `https://${host.includes(':') ? `[${host}]` : host}:${port}`;
    const connection = connections.get(url) ?? connect(url, node, calling);
    connections.set(url, connection);
    return connection;
  };
  try {
    return await Promise.all(nodes.map((node) => askNode(node, connectionTo(node), calling)));
  } finally {
    for (const { sessions } of connections.values()) sessions.abort();
  }
}

type Connection = ReturnType<typeof connect>;

function connect(url: string, { mayBeInMaintenance }: AskedNode, { ca, identity, timeoutMs }: Calling) {
  const trust =
    mayBeInMaintenance || ca === undefined ? { rejectUnauthorized: !mayBeInMaintenance } : { ca, ...identity };
  const sessions = new Sessions(url, {}, trust);
  const transport = createGrpcTransport({
    baseUrl: url,
    sessionManager: sessions,
    readMaxBytes: MAX_ANSWER_BYTES,
    // Nobody can send little that becomes much.
    acceptCompression: [],
    defaultTimeoutMs: timeoutMs,
  });
  return { sessions, transport };
}

/**
 * Ends each request with the frame that has its message. Otherwise the end comes later, and from a server that answers before it and
 * then wants no more of the request (RST_STREAM with NO_ERROR, RFC 9113, 8.1), as apid does, Node.js takes the answer for broken off.
 */
class Sessions extends Http2SessionManager {
  override async request(...args: Parameters<Http2SessionManager['request']>): Promise<ClientHttp2Stream> {
    const stream = await super.request(...args);
    const write = stream.write.bind(stream) as (chunk: Uint8Array) => boolean;
    // Kept until the end, which is waited for with the callback.
    stream.cork();
    stream.write = (chunk: Uint8Array, _encoding?: unknown, done?: (error?: null) => void) => {
      const isWritten = write(chunk);
      queueMicrotask(() => done?.(null));
      return isWritten;
    };
    return stream;
  }
}

async function askNode(node: AskedNode, { transport }: Connection, calling: Calling): Promise<NodeAnswer<string>> {
  const call = async <T extends Message>(service: string, method: string, fields: Fields): Promise<T> => {
    const described = TALOS.getService(service)?.method[method];
    if (!described) throw new Error(`there is no ${service}/${method}`);
    // The list `nodes`, of several at once, is deprecated, and as slow as the slowest of them.
    const header = node.isForwarded ? { node: node.name } : {};
    return (await transport.unary(described as never, undefined, undefined, header, fields)).message as unknown as T;
  };
  const get = async (namespace: string, type: string, id: string, spec: string): Promise<Fields | undefined> => {
    const { resource } = await call<GetResponse>('cosi.resource.State', 'get', { namespace, type, id });
    const described = TALOS.getMessage(spec);
    return resource?.spec && described && (fromBinary(described, resource.spec.protoSpec) as unknown as Fields);
  };
  const version = called(async () => {
    const { messages } = await call<VersionResponse>('machine.MachineService', 'version', {});
    return nonEmpty(messages[0]?.version?.tag);
  }).then((answer) =>
    // Up to 1.12, a machine in maintenance mode has the version as a resource alone; there is one since 1.10.
    answer.ok || !node.mayBeInMaintenance
      ? answer
      : called(async () =>
          nonEmpty((await get('runtime', 'Versions.runtime.talos.dev', 'version', 'machine.VersionSpec'))?.version),
        ),
  );
  if (!calling.wantsConfiguration || node.mayBeInMaintenance)
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

/** Of a message of the other side. */
const MAX_MESSAGE_CHARACTERS = 200;

/** Waits for a call. What cannot be read is told without a word of it: it may be secret. */
async function called<T>(work: () => Promise<T>): Promise<Called<T>> {
  try {
    return { ok: true, value: await work() };
  } catch (error) {
    if (error instanceof EmptyAnswer) return { ok: false, fault: 'garbled', message: error.message };
    if (!(error instanceof ConnectError)) return { ok: false, fault: 'garbled', message: 'it cannot be read' };
    const fault = FAULTS[error.code] ?? 'garbled';
    const message = error.rawMessage.slice(0, MAX_MESSAGE_CHARACTERS);
    return { ok: false, fault, message };
  }
}
