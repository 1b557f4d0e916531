/**
 * Options of the package yaml for what others read. kubectl, like Talos, reads YAML 1.1, where `yes`, `on` and `1_000` are no texts
 * unless they are quoted: a taint's value or an object's name may be one of them.
 */
export const KUBECTL_YAML = { compat: 'yaml-1.1' } as const;
