/**
 * Where Talos records what it has set on a node, so that it removes it when it is no longer declared: the keys, as a JSON list (NodeApplyController
 * of siderolabs/talos).
 */
export const OWNED_TAINTS = 'talos.dev/owned-taints';
export const OWNED_LABELS = 'talos.dev/owned-labels';
export const OWNED_ANNOTATIONS = 'talos.dev/owned-annotations';
