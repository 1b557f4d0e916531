const files = (...names: readonly string[]) => names.map((name) => `test/e2e/${name}.test.ts`);

/** What `npm test` leaves to `npm run test:nightly`: it waits for minutes, is about the rig itself, or needs the history. By its name each runs at any time. */
export const ONLY_NIGHTLY = [
  ...files('faults', 'cluster-trust', 'drift-leader', 'karpenter*', 'upgrade'),
  ...files('rig', 'rig-faults', 'rig-kubelets', 'rig-replicas'),
  ...['demo', 'disk-pressure', 'nftables', 'one-node', 'two-nodes', 'outages-*'].map(
    (name) => `test/real-node/${name}.test.ts`,
  ),
];

/** What draws its cases: every night others, and more of them. */
export const DRAWN = files(
  'match-conditions',
  'native-nodes.property',
  'native-daemon-sets.property',
  'native-pods.property',
  'policy-validation',
  'crds',
);

/** What depends on the API server's version. */
const VERSION_MATTERS = files('kubernetes-version', 'crds', 'policy-validation', 'match-conditions*', 'native-*');

/** What has nothing to do with it: the rig itself, and the demo. */
const VERSION_IS_NOTHING = files('rig*', 'demo');

/** What runs on the older API server: what depends on its version, or, with TAINTKEEPER_TEST_ALL=1, nearly everything. */
export function onOlderKubernetes(): { include: string[]; exclude?: string[] } {
  if (!process.env.TAINTKEEPER_TEST_ALL) return { include: VERSION_MATTERS };
  return { include: files('*'), exclude: VERSION_IS_NOTHING };
}
