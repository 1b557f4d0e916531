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
  readonly type: string;
}

interface Package {
  /** Structs by name. */
  readonly structs: Map<string, StructField[]>;
  /** Other named types: what stands behind the name. */
  readonly named: Map<string, string>;
  /** Kinds of documents: the struct of each. */
  readonly documents: Map<string, string>;
}

/** The fields of all documents, by path, from the Go sources of the module in `directory`. */
export function fieldsOfTypes(directory: string): Map<string, Field> {
  const packages = new Map<string, Package>();
  const types = join(directory, 'config', 'types');
  for (const entry of readdirSync(types, { recursive: true, encoding: 'utf8' })) {
    if (!entry.endsWith('.go') || /_test\.go$|_doc\.go$|generated|\/(generate|bundle|machine)\//.test(entry)) continue;
    const name = basename(dirname(join(types, entry)));
    const found = packages.get(name) ?? { structs: new Map(), named: new Map(), documents: new Map() };
    readSource(readFileSync(join(types, entry), 'utf8'), found);
    packages.set(name, found);
  }

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
    const [, type = '', name = '', options = ''] = /^\t(?:\w+\s+)?(\S+)\s+`yaml:"([^",]*)(,[^"]*)?"/.exec(line) ?? [];
    if (type !== '' && name !== '-' && (name !== '' || options.includes('inline'))) {
      const [, successor] = /Deprecated:[\s\S]*?\b([A-Z]\w+Config)\b/.exec(comment) ?? [];
      fields.push({
        name,
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
