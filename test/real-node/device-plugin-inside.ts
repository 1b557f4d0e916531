import { once } from 'node:events';
import { describeService, list, servePlugin, streaming, text, unary } from './kubelet-plugin.ts';

/*
 * node device-plugin-inside.ts RESOURCE FOLDER: stands in for a device plugin with one device, which is healthy after SIGUSR2. It answers what
 * the kubelet asks before it offers the resource, and no container gets the device. FOLDER is the root directory of the kubelet.
 */
const [resource = '', folder = ''] = process.argv.slice(2);

/** k8s.io/kubelet/pkg/apis/deviceplugin/v1beta1/api.proto */
const DEVICE_PLUGIN = describeService({
  package: 'v1beta1',
  name: 'DevicePlugin',
  messages: {
    Empty: [],
    DevicePluginOptions: [],
    ListAndWatchResponse: [list('devices', 1, '.v1beta1.Device')],
    Device: [text('ID', 1), text('health', 2)],
  },
  methods: {
    GetDevicePluginOptions: { input: 'Empty', output: 'DevicePluginOptions' },
    ListAndWatch: { input: 'Empty', output: 'ListAndWatchResponse', stream: true },
  },
});

const healthy = once(process, 'SIGUSR2');
const devices = (health: 'Healthy' | 'Unhealthy') => ({ devices: [{ ID: 'device-0', health }] });

servePlugin({
  ...{ type: 'DevicePlugin', name: resource, version: 'v1beta1', folder },
  routes: (router) =>
    router
      .rpc(unary(DEVICE_PLUGIN, 'getDevicePluginOptions'), () => ({}))
      .rpc(streaming(DEVICE_PLUGIN, 'listAndWatch'), async function* (_, { signal }) {
        yield devices('Unhealthy');
        await healthy;
        yield devices('Healthy');
        // The kubelet takes the end of the stream for the end of the plugin.
        await once(signal, 'abort');
      }),
});
