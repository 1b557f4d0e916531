import { existsSync, readdirSync, readFileSync } from 'node:fs';
import { basename, dirname, join } from 'node:path';

/** What is known of a field in one version. */
export interface Field {
  /** The type, as {@link fieldsOfTypes} writes it. Empty for a whole document. */
  readonly type: string;
  readonly deprecated: boolean;
  /** The kind of document that took its place, where the source names one. */
  readonly successor: string | undefined;
  /** Read, but in no documentation and no schema. */
  readonly hidden: boolean;
}

export const plain = (type: string): Field => ({ type, deprecated: false, successor: undefined, hidden: false });

/** Structs of other modules, with their fields: certificates and keys, and mounts of containers. */
const FOREIGN_STRUCTS: Readonly<Record<string, Readonly<Record<string, string>>>> = {
  'x509.PEMEncodedCertificateAndKey': { crt: 'text', key: 'text' },
  'x509.PEMEncodedCertificate': { crt: 'text' },
  'x509.PEMEncodedKey': { key: 'text' },
  'specs.Mount': { destination: 'text', type: 'text', source: 'text', options: '[]text' },
};

/** Types of Go, and of other modules, by what a decoder takes for them. */
const BASIC: Readonly<Record<string, string>> = {
  string: 'text',
  '[]byte': 'text',
  bool: 'bool',
  float32: 'float',
  float64: 'float',
  'time.Duration': 'duration',
  'netip.Addr': 'text',
  'netip.AddrPort': 'text',
  'netip.Prefix': 'text',
  'os.FileMode': 'uint',
  'resource.Quantity': 'quantity',
  any: 'any',
  'interface{}': 'any',
  ...Object.fromEntries(
    ['', '8', '16', '32', '64'].flatMap((bits) => [
      [`int${bits}`, 'int'],
      [`uint${bits}`, 'uint'],
    ]),
  ),
};

/** Types with an UnmarshalYAML or UnmarshalJSON of their own. */
const CUSTOM: Readonly<Record<string, string>> = {
  Args: '{}arg',
  ArgValue: 'arg',
  Base64Bytes: 'text',
  ClusterInlineManifests: '[]ClusterInlineManifest',
  DiskSize: 'text',
  Duration: 'duration',
  Endpoint: 'text',
  InstallDiskSizeMatcher: 'text',
  InstallDiskType: 'text',
  PortRange: 'text',
  QuantityValue: 'quantity',
  StringBytes: 'text',
  Time: 'text',
  TimeOrMetaDuration: 'quantity',
  URL: 'text',
};

/** A mapping without a type: what is in it is for another program. */
const UNSTRUCTURED = /^(?:\w+\.)?Unstructured$/;

interface StructField extends Omit<Field, 'type'> {
  /** Empty for embedded structs, whose fields count as the outer one's. */
  readonly name: string;
  /** What Go calls it. */
  readonly goName: string;
  readonly type: string;
}

/** What the source of one package of Go says of types. */
export interface Package {
  /** Structs by name. */
  readonly structs: Map<string, StructField[]>;
  /** Other named types: what stands behind the name. */
  readonly named: Map<string, string>;
  /** Packages that it imports by another name than their own. */
  readonly aliases: Map<string, string>;
  /** Types that read themselves, by UnmarshalText, or by UnmarshalYAML or UnmarshalJSON: how. */
  readonly decoded: Map<string, 'text' | 'yaml'>;
  /** Kinds of documents: the struct of each. */
  readonly documents: Map<string, string>;
}

/** A file of Go that says something of configuration documents. */
export interface GoFile {
  /** The name of its package. */
  readonly pkg: string;
  readonly source: string;
  /** Only its simple types are read: structs of the same name are in another package. */
  readonly isBeside?: boolean;
}

/** Packages beside the documents, with types of their fields. */
const MORE_PACKAGES: readonly string[] = [
  'cel',
  'nethelpers',
  'yamlutils',
  join('config', 'config'),
  join('resources', 'block'),
  join('resources', 'storage'),
];

/** The Go files of the documents, and of the types in them, in the module in `directory`. */
export function goFiles(directory: string): GoFile[] {
  return [
    ...goFilesIn(
      join(directory, 'config', 'types'),
      (entry) => !/_doc\.go$|generated|\/(generate|bundle|machine)\//.test(entry),
    ),
    ...MORE_PACKAGES.map((folder) => join(directory, folder))
      .filter(existsSync)
      .flatMap((folder) => goFilesIn(folder, () => true).map((file) => ({ ...file, isBeside: true }))),
  ];
}

function goFilesIn(folder: string, isMeant: (entry: string) => boolean): GoFile[] {
  return readdirSync(folder, { recursive: true, encoding: 'utf8' })
    .filter((entry) => entry.endsWith('.go') && !entry.endsWith('_test.go') && isMeant(entry))
    .sort()
    .map((entry) => ({
      pkg: basename(dirname(join(folder, entry))),
      source: readFileSync(join(folder, entry), 'utf8'),
    }));
}

/** The types in them, by package. */
export function readPackages(files: readonly GoFile[]): Map<string, Package> {
  const packages = new Map<string, Package>();
  for (const { pkg, source, isBeside } of files) {
    const found = packages.get(pkg) ?? {
      structs: new Map(),
      named: new Map(),
      aliases: new Map(),
      decoded: new Map(),
      documents: new Map(),
    };
    readSource(source, isBeside ? { ...found, structs: new Map() } : found);
    packages.set(pkg, found);
  }
  packages.get(ROOT)?.documents.set(ROOT, 'Config');
  packages.get('v1beta1')?.documents.set(KUBELET_ROOT, KUBELET_ROOT);
  return packages;
}

/** The path of a field that Go code names by the fields' own names, from the document without a kind on; undefined for none. */
export function pathOf(packages: ReadonlyMap<string, Package>, goNames: readonly string[]): string[] | undefined {
  const path: string[] = [];
  let type = 'Config';
  for (const goName of goNames) {
    const behind = packages.get('v1alpha1')?.named.get(type) ?? type;
    const field = packages
      .get('v1alpha1')
      ?.structs.get(behind.replace(/^\*/, ''))
      ?.find((each) => each.goName === goName);
    if (!field) return undefined;
    path.push(field.name);
    type = field.type.replace(/^\*/, '');
  }
  return path;
}

/**
 * The fields of all documents, by path. A field's type is `text`, `bool`, `int`, `uint`, `float`, `duration`, `quantity`, `arg` (an argument of a program), `any`,
 * or `struct` for one with fields of its own, which follow; before it `[]` for a list of these, and `{}` for a mapping with any keys.
 */
export function fieldsOfTypes(packages: ReadonlyMap<string, Package>): Map<string, Field> {
  const fields = new Map<string, Field>();
  const walk = (pkg: string, type: string, path: string, outer: readonly string[]): string => {
    const stripped = type.replace(/^\*/, '');
    const basic = BASIC[stripped];
    if (basic !== undefined) return basic;
    if (UNSTRUCTURED.test(stripped)) return '{}any';
    const [, container, inside] = /^(\[\]|map\[[\w.]+\]|\{\})(.+)$/.exec(stripped) ?? [];
    if (inside !== undefined) {
      return `${container === '[]' ? '[]' : '{}'}${walk(pkg, inside, `${path}.*`, outer)}`;
    }
    const names = FOREIGN_STRUCTS[stripped];
    for (const [name, each] of Object.entries(names ?? {})) fields.set(`${path}.${name}`, plain(each));
    if (names) return 'struct';
    const [, other, foreign] = /^(\w+)\.(\w+)$/.exec(stripped) ?? [];
    if (other && foreign) {
      const name = packages.has(other) ? other : packages.get(pkg)?.aliases.get(other);
      return walk(name ?? other, foreign, path, outer);
    }
    const at = packages.get(pkg);
    const decoded = at?.decoded.get(stripped);
    if (decoded === 'text') return 'text';
    const custom = decoded === 'yaml' || !at?.named.has(stripped) ? CUSTOM[stripped] : undefined;
    if (custom !== undefined) return /struct|[A-Z]/.test(custom) ? walk(pkg, custom, path, outer) : custom;
    if (decoded === 'yaml') throw new Error(`${path}: what does ${stripped} take, which reads itself?`);
    if (outer.includes(`${pkg}.${stripped}`)) return 'any';
    const behind = at?.named.get(stripped);
    if (behind !== undefined) return walk(pkg, behind, path, outer);
    const struct = at?.structs.get(stripped);
    if (!struct) throw new Error(`${path}: unknown type ${pkg}.${stripped}`);
    for (const { name, type: below, ...field } of struct) {
      const inner = name === '' ? path : `${path}.${name}`;
      const found = walk(pkg, below, inner, [...outer, `${pkg}.${stripped}`]);
      if (name !== '')
        fields.set(inner, { ...field, type: found === 'struct' && !below.startsWith('*') ? 'value' : found });
    }
    return 'struct';
  };
  const document = (pkg: string, type: string, kind: string): void => {
    walk(pkg, type, kind, []);
    fields.set(kind, plain('struct'));
  };
  for (const [name, { documents }] of packages) for (const [kind, type] of documents) document(name, type, kind);
  return fields;
}

/** The document without a kind. */
const ROOT = 'v1alpha1';

/** What the kubelet reads. */
const KUBELET_ROOT = 'KubeletConfiguration';

/** The Go files of the kubelet's configuration, in the modules k8s.io/NAME of these directories. */
export function kubeletFiles(moduleOf: (name: string) => string): GoFile[] {
  const read = (pkg: string, module: string, folder: string): GoFile[] =>
    goFilesIn(join(moduleOf(module), folder), (entry) => !entry.includes('/')).map(({ source }) => ({ pkg, source }));
  return [
    ...read('v1beta1', 'kubelet', join('config', 'v1beta1')),
    ...read('logsapi', 'component-base', join('logs', 'api', 'v1')),
    ...read('tracingapi', 'component-base', join('tracing', 'api', 'v1')),
    ...read('v1', 'api', join('core', 'v1')),
    ...read('metav1', 'apimachinery', join('pkg', 'apis', 'meta', 'v1')),
  ];
}

function readSource(source: string, into: Package): void {
  for (const [, name = '', body = ''] of source.matchAll(/^type (\w+) struct ?\{(?:\n([\s\S]*?)^)?\}/gm)) {
    into.structs.set(name, readStruct(body));
  }
  for (const [, name = '', type = ''] of source.matchAll(/^type (\w+) =? ?((?:\[\]|map\[|\*)?[\w.*[\]]+)$/gm)) {
    if (type !== 'struct' && type !== 'interface') into.named.set(name, type);
  }
  for (const [, alias = '', name = ''] of source.matchAll(/^\t(\w+) "[\w./-]+\/(\w+)"$/gm))
    into.aliases.set(alias, name);
  // Go finds the methods of an embedded type, too.
  for (const [, name = '', embedded = ''] of source.matchAll(/^type (\w+) struct \{\n\t([\w.]+)\n\}/gm)) {
    if (BASIC[embedded] === 'text') into.decoded.set(name, 'text');
  }
  for (const [, name = '', kind = ''] of source.matchAll(/^func \(\w+ \*(\w+)\) Unmarshal(Text|YAML|JSON)\(/gm)) {
    into.decoded.set(name, kind === 'Text' ? 'text' : 'yaml');
  }
  const texts = new Map(
    [...source.matchAll(/^(?:const |\t)(\w+)\s+= "(\w+)"/gm)].map(([, name, text]) => [name, text]),
  );
  for (const [, name, type] of source.matchAll(/registry\.Register\((\w+), func[\s\S]*?return &(\w+)\{/g)) {
    const kind = texts.get(name);
    if (kind && type) into.documents.set(kind, type);
  }
}

function readStruct(body: string): StructField[] {
  const fields: StructField[] = [];
  let comment = '';
  for (const line of body.split('\n')) {
    if (/^\s*\/\//.test(line)) {
      comment += `${line}\n`;
      continue;
    }
    const [, goName = '', type = '', name = '', options = ''] =
      /^\t(?:(\w+)\s+)?(\S+)\s+`(?:yaml|json):"([^",]*)(,[^"]*)?"/.exec(line) ?? [];
    if (type !== '' && name !== '-' && (name !== '' || options.includes('inline'))) {
      const [, successor] = /Deprecated:[\s\S]*?\b([A-Z]\w+Config)\b/.exec(comment) ?? [];
      fields.push({
        name,
        goName,
        type,
        deprecated: comment.includes('Deprecated:'),
        successor,
        hidden: comment.includes('docgen:nodoc'),
      });
    }
    comment = '';
  }
  return fields;
}
