import { type GoFile, type Package, pathOf } from './talos-go-types.ts';

/**
 * A setting of `machine` or `cluster` that a kind of document does not stand beside: `KIND PATH TEST`, and then what of the
 * document itself has to be so: `name=NAME`, or a field that says something.
 */
export type Conflict = string;

/** `set`: there, and not null. `full`: and not empty, nor zero. `true`: and true. */
type Test = 'set' | 'full' | 'true';

/** What the methods of the older shape ask, by which some documents ask for it. A conflict by another one ends the script. */
const METHODS: Readonly<Record<string, readonly [path: string, test: Test, ...when: string[]][]>> = {
  'Cluster().SecretboxEncryptionSecret()': [['cluster.secretboxEncryptionSecret', 'full']],
  'Cluster().AESCBCEncryptionSecret()': [['cluster.aescbcEncryptionSecret', 'full']],
  'K8sAdmissionControlPluginConfigs()': [['cluster.apiServer.admissionControl', 'full']],
  'SearchDomains().IsPresent()': [['machine.network.searchDomains', 'set']],
  'SearchDomains()': [['machine.network.searchDomains', 'full']],
  'Resolvers()': [['machine.network.nameservers', 'full']],
  'DisableSearchDomain()': [['machine.network.disableSearchDomain', 'true']],
  'NetworkHostDNSConfig()': [['machine.features.hostDNS', 'set', 'hostDNS']],
  'NetworkTimeSyncConfig()': [
    ['machine.time.disabled', 'true'],
    ['machine.time.servers', 'full'],
    ['machine.time.bootTimeout', 'full'],
  ],
  'NetworkKubeSpanConfig()': [['machine.network.kubespan', 'set']],
  'Hostname()': [['machine.network.hostname', 'full']],
  'AutoHostname()': [['machine.features.stableHostname', 'true']],
  'ImageCacheConfig()': [['machine.features.imageCache', 'set']],
  'Machine().SystemDiskEncryption().Get()': [
    ['machine.systemDiskEncryption.state', 'set', 'name=STATE', 'encryption'],
    ['machine.systemDiskEncryption.ephemeral', 'set', 'name=EPHEMERAL', 'encryption'],
  ],
};

/**
 * What the bodies of `V1Alpha1ConflictValidate` ask of the older shape.
 * @throws Error for a question that is not understood: it would be missing otherwise
 */
export function conflictsOf(files: readonly GoFile[], packages: ReadonlyMap<string, Package>): Conflict[] {
  return files.flatMap(({ pkg, source }) =>
    [
      ...source.matchAll(
        /func \(\w+ \*(\w+)\) V1Alpha1ConflictValidate\((\w+) \*v1alpha1\.Config\) error \{\n([\s\S]*?)^\}/gm,
      ),
    ].flatMap(([, type = '', older = '', body = '']) => {
      const kind = kindOfType(packages, pkg, type);
      return asked(body.replaceAll(/\/\/.*/g, ''), older, packages, kind).map((rest) => `${kind} ${rest}`);
    }),
  );
}

/** Before documents were asked themselves, Talos 1.11 asked for one of these in `Validate` of the whole (`container.go`). */
export function conflictsOfWhole(container: string): Conflict[] {
  if (!/configured in both v1alpha1\.Config and VolumeConfig/.test(container)) return [];
  const rows = METHODS['Machine().SystemDiskEncryption().Get()'] ?? [];
  return rows.map((parts) => `VolumeConfig ${parts.join(' ')}`);
}

function asked(body: string, older: string, packages: ReadonlyMap<string, Package>, kind: string): string[] {
  const chains = [
    ...body.matchAll(new RegExp(`\\b${older}((?:\\.\\w+(?:\\([^()]*\\))?)+)\\)?\\s*(!= nil|!= ""|!= 0|> 0)?`, 'g')),
  ].map(([, chain = '', operator]) => ({ chain: chain.slice(1).replaceAll(/\([^()]*\)/g, '()'), operator }));
  const found = chains.flatMap(({ chain, operator }) => {
    // Only on the way to another one.
    if (chains.some((other) => other.chain.startsWith(`${chain}.`))) return [];
    if (chain.includes('(')) {
      const known = METHODS[chain];
      if (!known) throw new Error(`${kind}: what does ${chain} ask?`);
      return known.map((parts) => parts.join(' '));
    }
    const names = chain.replace(/\.Object$/, '').split('.');
    const path = pathOf(packages, names);
    if (!path || !operator) throw new Error(`${kind}: what does ${chain} ask?`);
    return [`${path.join('.')} ${operator === '!= nil' && !chain.endsWith('.Object') ? 'set' : 'full'}`];
  });
  const refusals = body.match(/return (errors|fmt)\./g)?.length ?? 0;
  if (found.length < refusals) throw new Error(`${kind}: ${refusals} refusals, and only ${found.length} questions`);
  return [...new Set(found)];
}

/** Kinds that do not stand beside each other with the same name (`ConflictsWithKinds`): `KIND KIND`, in the order of the alphabet. */
export function namesakesOf(files: readonly GoFile[], packages: ReadonlyMap<string, Package>): string[] {
  const constants = new Map(
    files.flatMap(({ source }) =>
      [...source.matchAll(/^(?:const |\t)(\w+Kind)\s+= "(\w+)"/gm)].map(
        ([, name = '', text = '']) => [name, text] as const,
      ),
    ),
  );
  const kindsIn = (text: string): string[] =>
    [...text.matchAll(/\b(\w+Kind)\b/g)].flatMap(([, name = '']) => constants.get(name) ?? []);
  const lists = new Map(
    files.flatMap(({ source }) =>
      [...source.matchAll(/func (\w+)\(selfKind string\) \[\]string \{\n([\s\S]*?)^\}/gm)].map(
        ([, name = '', body = '']) => [name, kindsIn(body)] as const,
      ),
    ),
  );
  const pairs = files.flatMap(({ pkg, source }) =>
    [...source.matchAll(/func \(\w+ \*(\w+)\) ConflictsWithKinds\(\) \[\]string \{\n([\s\S]*?)^\}/gm)].flatMap(
      ([, type = '', body = '']) => {
        const kind = kindOfType(packages, pkg, type);
        const list = lists.get(/return (\w+)\(/.exec(body)?.[1] ?? '') ?? kindsIn(body);
        if (list.length === 0) throw new Error(`${kind}: which kinds does it not stand beside?`);
        return list.filter((other) => other !== kind).map((other) => [kind, other].sort().join(' '));
      },
    ),
  );
  return [...new Set(pairs)];
}

/** Kinds that only control planes may have (`ControlplaneOnlyDocument`). */
export function controlPlaneKindsOf(files: readonly GoFile[], packages: ReadonlyMap<string, Package>): string[] {
  return files.flatMap(({ pkg, source }) =>
    [...source.matchAll(/func \(\w+ \*(\w+)\) ControlplaneOnlyDocument\(\)/g)].map(([, type = '']) =>
      kindOfType(packages, pkg, type),
    ),
  );
}

function kindOfType(packages: ReadonlyMap<string, Package>, pkg: string, type: string): string {
  const found = [...(packages.get(pkg)?.documents ?? [])].find(([, name]) => name === type);
  if (!found) throw new Error(`${pkg}.${type} is no document`);
  return found[0];
}
