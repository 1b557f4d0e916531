import type { Path } from '../../policy/problem.ts';
import { documentLife } from '../fields.ts';
import { kindOf, valueAt } from '../tree.ts';
import type { Rule } from './finding.ts';

/** What each kind of document will not stand beside (V1Alpha1ConflictValidate of Talos' configuration types). */
const CONFLICTS: readonly (readonly [kind: string, older: readonly string[]])[] = [
  [
    'KubeNodeConfig',
    [
      'machine.nodeTaints',
      'machine.nodeLabels',
      'machine.nodeAnnotations',
      'machine.kubelet.nodeIP',
      'machine.kubelet.registerWithFQDN',
      'machine.kubelet.skipNodeRegistration',
      'cluster.allowSchedulingOnControlPlanes',
      'cluster.allowSchedulingOnMasters',
    ],
  ],
  ['KubeletConfig', ['machine.kubelet']],
  ['KubeAPIServerConfig', ['cluster.apiServer', 'cluster.controlPlane.localAPIServerPort']],
  ['KubeNetworkConfig', ['cluster.network']],
  ['KubeFlannelCNIConfig', ['cluster.network']],
  ['KubeProxyConfig', ['cluster.proxy']],
  ['KubeCoreDNSConfig', ['cluster.coreDNS']],
  ['KubePrismConfig', ['machine.features.kubePrism']],
  ['HostnameConfig', ['machine.network.hostname']],
  [
    'ResolverConfig',
    ['machine.network.nameservers', 'machine.network.searchDomains', 'machine.network.disableSearchDomain'],
  ],
];

export const TWO_SHAPES: Rule = {
  id: 'two-shapes',
  about:
    'The same setting in `machine` or `cluster` and in the document that took its place: Talos refuses the whole configuration.',
  check({ configuration: { documents }, version }) {
    const older = documents.filter((document) => kindOf(document) === undefined);
    const seen = new Set<string>();
    return CONFLICTS.flatMap(([kind, fields]) => {
      const newer = documents.find((document) => kindOf(document) === kind);
      const since = documentLife(kind)?.since;
      // Too new for this Talos: field-version says so.
      if (!newer || (version !== undefined && since !== undefined && version < since)) return [];
      return fields.flatMap((field) => {
        const path: Path = field.split('.');
        return older.flatMap((document) => {
          const value = valueAt(document.value, path);
          if (value === undefined || value === null || seen.has(field)) return [];
          seen.add(field);
          return [
            {
              document,
              path,
              reason: `a ${kind} document (${newer.locate([])}) says the same: Talos refuses a configuration with both`,
              fix: `keep one: the ${kind} document, if this Talos has it`,
            },
          ];
        });
      });
    });
  },
};
