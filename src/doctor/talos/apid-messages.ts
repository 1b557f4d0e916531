import {
  createFileRegistry,
  type DescMethod,
  type DescMethodUnary,
  fromBinary,
  fromJson,
  type Message,
} from '@bufbuild/protobuf';
import { FileDescriptorSetSchema } from '@bufbuild/protobuf/wkt';

const field = (name: string, number: number, type: string) => ({ name, number, type, label: 'LABEL_OPTIONAL' });
const text = (name: string, number: number) => field(name, number, 'TYPE_STRING');
const bytes = (name: string, number: number) => field(name, number, 'TYPE_BYTES');
const part = (name: string, number: number, typeName: string) => ({ ...field(name, number, 'TYPE_MESSAGE'), typeName });

/** The part of api/machine/machine.proto and api/resource/definitions of Talos, and of cosi.resource of cosi-project/runtime, that is called here. */
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

/** The calls, by the name of the method. */
export interface Calls {
  readonly version: {
    readonly request: object;
    readonly response: { readonly messages: readonly { readonly version?: { readonly tag: string } }[] };
  };
  readonly get: {
    readonly request: { readonly namespace: string; readonly type: string; readonly id: string };
    readonly response: { readonly resource?: { readonly spec?: { readonly protoSpec: Uint8Array } } };
  };
}

export type CallName = keyof Calls;

const SERVICES: Readonly<Record<CallName, string>> = { version: 'machine.MachineService', get: 'cosi.resource.State' };

export function methodOf(name: CallName): DescMethodUnary {
  const method = TALOS.getService(SERVICES[name])?.method[name];
  if (!method || !isUnary(method)) throw new Error(`there is no call ${name}`);
  return method;
}

function isUnary(method: DescMethod): method is DescMethodUnary {
  return method.methodKind === 'unary';
}

/** The specs of resources, by the name of the message. */
export interface ResourceSpecs {
  readonly 'machine.MachineConfigSpec': { readonly yamlMarshalled: Uint8Array };
  readonly 'machine.VersionSpec': { readonly version: string };
}

/** @throws Error if it is no such message */
export function readSpec<Name extends keyof ResourceSpecs>(name: Name, bytes: Uint8Array): ResourceSpecs[Name] {
  const described = TALOS.getMessage(name);
  if (!described) throw new Error(`there is no message ${name}`);
  return fromBinary(described, bytes) as Message & ResourceSpecs[Name];
}
