import { describeService, servePlugin, text, unary } from './kubelet-plugin.ts';

/*
 * node csi-driver-inside.ts DRIVER FOLDER NODE: stands in for a CSI driver and its registrar. It answers what the kubelet asks before it
 * adds the driver to the CSINode, and has no volumes. FOLDER is the root directory of the kubelet.
 */
const [driver = '', folder = '', node = ''] = process.argv.slice(2);

/** csi.proto of the CSI specification. */
const NODE = describeService({
  package: 'csi.v1',
  name: 'Node',
  messages: { NodeGetInfoRequest: [], NodeGetInfoResponse: [text('node_id', 1)] },
  methods: { NodeGetInfo: { input: 'NodeGetInfoRequest', output: 'NodeGetInfoResponse' } },
});

servePlugin({
  ...{ type: 'CSIPlugin', name: driver, version: '1.0.0', folder },
  routes: (router) => router.rpc(unary(NODE, 'nodeGetInfo'), () => ({ nodeId: node })),
});
