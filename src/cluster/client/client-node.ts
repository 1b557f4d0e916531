/**
 * What is used of `@kubernetes/client-node`, and the only file that imports it. The package has no `exports`: its main module loads the models of every
 * API, 84 MB, so these are paths of files in it. A test notices when the package gets `exports`, or when a file moves.
 */
export type { KubeConfig } from '@kubernetes/client-node/dist/config.js';
export type { WebSocketHandler } from '@kubernetes/client-node/dist/web-socket-handler.js';

/** Loaded on demand: most commands call no cluster. */
export const importKubeConfig = () => import('@kubernetes/client-node/dist/config.js');

/** Loaded on demand: few commands use WebSockets. */
export const importWebSocketHandler = () => import('@kubernetes/client-node/dist/web-socket-handler.js');
