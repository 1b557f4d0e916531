import { mkdirSync, rmSync } from 'node:fs';
import { createServer } from 'node:http2';
import { dirname, join } from 'node:path';
import {
  createFileRegistry,
  type DescMethodServerStreaming,
  type DescMethodUnary,
  type DescService,
  fromJson,
} from '@bufbuild/protobuf';
import { FileDescriptorSetSchema } from '@bufbuild/protobuf/wkt';
import type { ConnectRouter } from '@connectrpc/connect';
import { connectNodeAdapter } from '@connectrpc/connect-node';

/*
 * What the stand-ins for plugins of the kubelet share. The kubelet watches plugins_registry/ in its root directory (pkg/kubelet/pluginmanager),
 * and asks each socket there for the endpoint of a plugin.
 */

/** A FieldDescriptorProto as JSON. */
type Field = Readonly<Record<string, string | number>>;

export const text = (name: string, number: number, label = 'LABEL_OPTIONAL'): Field => ({
  ...{ name, number, label },
  type: 'TYPE_STRING',
});
const bool = (name: string, number: number): Field => ({ ...text(name, number), type: 'TYPE_BOOL' });
/** A list of messages of this type, such as `.csi.v1.Topology`. */
export const list = (name: string, number: number, typeName: string): Field => ({
  ...text(name, number, 'LABEL_REPEATED'),
  ...{ type: 'TYPE_MESSAGE', typeName },
});

/** A service of a .proto file, as far as the kubelet calls it. */
interface ServiceDescription {
  readonly package: string;
  readonly name: string;
  /** The fields of each message. */
  readonly messages: Readonly<Record<string, readonly Field[]>>;
  readonly methods: Readonly<
    Record<string, { readonly input: string; readonly output: string; readonly stream?: true }>
  >;
}

export function describeService({ package: ns, name, messages, methods }: ServiceDescription): DescService {
  const file = {
    ...{ name: `${ns}.proto`, syntax: 'proto3', package: ns },
    messageType: Object.entries(messages).map(([message, field]) => ({ name: message, field: [...field] })),
    service: [
      {
        name,
        method: Object.entries(methods).map(([method, { input, output, stream = false }]) => ({
          name: method,
          ...{ inputType: `.${ns}.${input}`, outputType: `.${ns}.${output}`, serverStreaming: stream },
        })),
      },
    ],
  };
  const found = createFileRegistry(fromJson(FileDescriptorSetSchema, { file: [file] })).getService(`${ns}.${name}`);
  if (!found) throw new Error(`there is no service ${ns}.${name}`);
  return found;
}

/** A method that answers once. */
export const unary = (service: DescService, name: string) => methodOf(service, name) as DescMethodUnary;
/** A method that answers again and again. */
export const streaming = (service: DescService, name: string) => methodOf(service, name) as DescMethodServerStreaming;

function methodOf(service: DescService, name: string) {
  const method = service.method[name];
  if (!method) throw new Error(`there is no ${service.typeName}/${name}`);
  return method;
}

/** k8s.io/kubelet/pkg/apis/pluginregistration/v1/api.proto */
const REGISTRATION = describeService({
  package: 'pluginregistration',
  name: 'Registration',
  messages: {
    InfoRequest: [],
    PluginInfo: [
      ...[text('type', 1), text('name', 2), text('endpoint', 3)],
      text('supported_versions', 4, 'LABEL_REPEATED'),
    ],
    RegistrationStatus: [bool('plugin_registered', 1), text('error', 2)],
    RegistrationStatusResponse: [],
  },
  methods: {
    GetInfo: { input: 'InfoRequest', output: 'PluginInfo' },
    NotifyRegistrationStatus: { input: 'RegistrationStatus', output: 'RegistrationStatusResponse' },
  },
});

interface KubeletPlugin {
  readonly type: 'CSIPlugin' | 'DevicePlugin';
  readonly name: string;
  readonly version: string;
  /** The root directory of the kubelet. */
  readonly folder: string;
  /** Answers the calls of the kubelet at the endpoint. */
  readonly routes: (router: ConnectRouter) => void;
}

/** Registers with the kubelet, and answers it until SIGTERM. */
export function servePlugin({ type, name, version, folder, routes }: KubeletPlugin): void {
  // That of a resource has a slash.
  const file = name.replace('/', '_');
  const registration = join(folder, 'plugins_registry', `${file}-reg.sock`);
  const endpoint = join(folder, 'plugins', file, 'plugin.sock');
  const answer = connectNodeAdapter({
    routes: (router) => {
      router.rpc(unary(REGISTRATION, 'getInfo'), () => ({ type, name, endpoint, supportedVersions: [version] }));
      router.rpc(unary(REGISTRATION, 'notifyRegistrationStatus'), (status) => {
        process.stdout.write(`${JSON.stringify(status)}\n`);
        return {};
      });
      routes(router);
    },
  });

  // The endpoint comes first: the kubelet calls it once it has found the registration.
  const servers = [endpoint, registration].map((socket) => {
    mkdirSync(dirname(socket), { recursive: true });
    // A process that was killed leaves it behind.
    rmSync(socket, { force: true });
    const server = createServer((request, response) => {
      // grpc-go names the path of the socket as the authority, and no URL can have that as its host.
      request.headers[':authority'] = 'localhost';
      answer(request, response);
    });
    return server.listen(socket);
  });

  process.once('SIGTERM', () => {
    // This removes the sockets. The kubelet then removes the plugin.
    for (const server of servers) server.close();
    process.exit();
  });
}
