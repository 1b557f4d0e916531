import { readdirSync, readFileSync } from 'node:fs';
import { basename, dirname, join } from 'node:path';

/** What is known of a field in one version. */
export interface Field {
  readonly deprecated: boolean;
  /** The kind of document that took its place, where the source names one. */
  readonly successor: string | undefined;
  /** Read, but in no documentation and no schema. */
  readonly hidden: boolean;
}

export const PLAIN: Field = { deprecated: false, successor: undefined, hidden: false };

/** Of another module: certificates and keys. */
const FOREIGN: Readonly<Record<string, readonly string[]>> = {
  'x509.PEMEncodedCertificateAndKey': ['crt', 'key'],
  'x509.PEMEncodedCertificate': ['crt'],
  'x509.PEMEncodedKey': ['key'],
};

interface StructField extends Field {
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
  /** Kinds of documents: the struct of each. */
  readonly documents: Map<string, string>;
}

/** A file of Go that says something of configuration documents. */
export interface GoFile {
  /** The name of its package. */
  readonly pkg: string;
  readonly source: string;
}

/** The Go files of the documents, in the module in `directory`. */
export function goFiles(directory: string): GoFile[] {
  const types = join(directory, 'config', 'types');
  return readdirSync(types, { recursive: true, encoding: 'utf8' })
    .filter(
      (entry) => entry.endsWith('.go') && !/_test\.go$|_doc\.go$|generated|\/(generate|bundle|machine)\//.test(entry),
    )
    .sort()
    .map((entry) => ({
      pkg: basename(dirname(join(types, entry))),
      source: readFileSync(join(types, entry), 'utf8'),
    }));
}

/** The types in them, by package. */
export function readPackages(files: readonly GoFile[]): Map<string, Package> {
  const packages = new Map<string, Package>();
  for (const { pkg, source } of files) {
    const found = packages.get(pkg) ?? { structs: new Map(), named: new Map(), documents: new Map() };
    readSource(source, found);
    packages.set(pkg, found);
  }
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

/** The fields of all documents, by path. */
export function fieldsOfTypes(packages: ReadonlyMap<string, Package>): Map<string, Field> {
  const fields = new Map<string, Field>();
  const walk = (pkg: string, type: string, path: string, outer: readonly string[]): void => {
    const stripped = type.replace(/^\*/, '');
    const inside = /^(?:\[\]|map\[\w+\])(.+)$/.exec(stripped)?.[1];
    if (inside !== undefined) {
      walk(pkg, inside, `${path}.*`, outer);
      return;
    }
    for (const name of FOREIGN[stripped] ?? []) fields.set(`${path}.${name}`, PLAIN);
    const [, other, foreign] = /^(\w+)\.(\w+)$/.exec(stripped) ?? [];
    if (other && foreign) {
      walk(other, foreign, path, outer);
      return;
    }
    const at = packages.get(pkg);
    if (!at || outer.includes(`${pkg}.${stripped}`)) return;
    const behind = at.named.get(stripped);
    if (behind !== undefined) {
      walk(pkg, behind, path, outer);
      return;
    }
    for (const { name, type: below, ...field } of at.structs.get(stripped) ?? []) {
      const inner = name === '' ? path : `${path}.${name}`;
      if (name !== '') fields.set(inner, field);
      walk(pkg, below, inner, [...outer, `${pkg}.${stripped}`]);
    }
  };
  const document = (pkg: string, type: string, kind: string): void => {
    fields.set(kind, PLAIN);
    walk(pkg, type, kind, []);
  };
  document('v1alpha1', 'Config', 'v1alpha1');
  for (const [name, { documents }] of packages) for (const [kind, type] of documents) document(name, type, kind);
  return fields;
}

function readSource(source: string, into: Package): void {
  for (const [, name = '', body = ''] of source.matchAll(/^type (\w+) struct \{\n([\s\S]*?)^\}/gm)) {
    into.structs.set(name, readStruct(body));
  }
  for (const [, name = '', type = ''] of source.matchAll(/^type (\w+) =? ?((?:\[\]|map\[|\*)[\w.*[\]]+)$/gm)) {
    into.named.set(name, type);
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
      /^\t(?:(\w+)\s+)?(\S+)\s+`yaml:"([^",]*)(,[^"]*)?"/.exec(line) ?? [];
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
