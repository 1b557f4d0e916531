import { mkdirSync, rmSync } from 'node:fs';
import { createServer } from 'node:http2';
import { dirname, join } from 'node:path';
import { createFileRegistry, type DescMethodUnary, fromJson } from '@bufbuild/protobuf';
import { FileDescriptorSetSchema } from '@bufbuild/protobuf/wkt';
import { connectNodeAdapter } from '@connectrpc/connect-node';

/*
 * node csi-driver-inside.ts DRIVER FOLDER NODE: stands in for a CSI driver and its registrar. It answers what the kubelet asks before it
 * adds the driver to the CSINode, and has no volumes.
 *
 * FOLDER is the root directory of the kubelet. The kubelet watches plugins_registry/ in it (pkg/kubelet/pluginmanager), and asks each
 * socket there for the endpoint of a driver.
 */
const [driver = '', folder = '', node = ''] = process.argv.slice(2);
const registration = join(folder, 'plugins_registry', `${driver}-reg.sock`);
const endpoint = join(folder, 'plugins', driver, 'csi.sock');

const field = (name: string, number: number, type: string, label = 'LABEL_OPTIONAL') => ({ name, number, type, label });
const text = (name: string, number: number, label?: string) => field(name, number, 'TYPE_STRING', label);

/** What the kubelet calls of k8s.io/kubelet/pkg/apis/pluginregistration/v1/api.proto, and of csi.proto of the CSI specification. */
const CALLED = createFileRegistry(
  fromJson(FileDescriptorSetSchema, {
    file: [
      {
        name: 'registration.proto',
        syntax: 'proto3',
        package: 'pluginregistration',
        messageType: [
          { name: 'InfoRequest' },
          {
            name: 'PluginInfo',
            field: [
              ...[text('type', 1), text('name', 2), text('endpoint', 3)],
              text('supported_versions', 4, 'LABEL_REPEATED'),
            ],
          },
          { name: 'RegistrationStatus', field: [field('plugin_registered', 1, 'TYPE_BOOL'), text('error', 2)] },
          { name: 'RegistrationStatusResponse' },
        ],
        service: [
          {
            name: 'Registration',
            method: [
              {
                name: 'GetInfo',
                inputType: '.pluginregistration.InfoRequest',
                outputType: '.pluginregistration.PluginInfo',
              },
              {
                name: 'NotifyRegistrationStatus',
                inputType: '.pluginregistration.RegistrationStatus',
                outputType: '.pluginregistration.RegistrationStatusResponse',
              },
            ],
          },
        ],
      },
      {
        name: 'csi.proto',
        syntax: 'proto3',
        package: 'csi.v1',
        messageType: [{ name: 'NodeGetInfoRequest' }, { name: 'NodeGetInfoResponse', field: [text('node_id', 1)] }],
        service: [
          {
            name: 'Node',
            method: [
              {
                name: 'NodeGetInfo',
                inputType: '.csi.v1.NodeGetInfoRequest',
                outputType: '.csi.v1.NodeGetInfoResponse',
              },
            ],
          },
        ],
      },
    ],
  }),
);

function method(service: string, name: string): DescMethodUnary {
  const found = CALLED.getService(service)?.method[name];
  if (!found) throw new Error(`there is no ${service}/${name}`);
  return found as DescMethodUnary;
}

const REGISTRATION = 'pluginregistration.Registration';
const answer = connectNodeAdapter({
  routes: (router) =>
    router
      .rpc(method(REGISTRATION, 'getInfo'), () => ({
        ...{ type: 'CSIPlugin', name: driver, endpoint },
        supportedVersions: ['1.0.0'],
      }))
      .rpc(method(REGISTRATION, 'notifyRegistrationStatus'), (status) => {
        process.stdout.write(`${JSON.stringify(status)}\n`);
        return {};
      })
      .rpc(method('csi.v1.Node', 'nodeGetInfo'), () => ({ nodeId: node })),
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
  // This removes the sockets. The kubelet then removes the driver from the CSINode.
  for (const server of servers) server.close();
  process.exit();
});
