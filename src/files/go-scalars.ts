import type { ScalarTag } from 'yaml';

/** Tags of YAML whose values are no JSON, as Go decodes them into a text. */
const TEXTS: readonly ScalarTag[] = [
  { tag: 'tag:yaml.org,2002:binary', resolve: (source) => Buffer.from(source, 'base64').toString('utf8') },
  { tag: 'tag:yaml.org,2002:timestamp', resolve: (source) => source },
];

/** Numbers that Go reads and YAML 1.2 does not, such as `0b101`, `-0x1F` and `1_000` (resolve.go of go-yaml). */
const NUMBERS: readonly ScalarTag[] = [
  {
    tag: 'tag:yaml.org,2002:int',
    default: true,
    test: /^[-+]?(0[bB]_*[01][01_]*|0[oO]_*[0-7][0-7_]*|0[xX]_*[0-9a-fA-F][0-9a-fA-F_]*|[0-9][0-9_]*)$/,
    resolve: numberOf,
  },
  {
    tag: 'tag:yaml.org,2002:float',
    default: true,
    test: /^[-+]?[0-9][0-9_]*(\.[0-9_]*)?([eE][-+]?[0-9][0-9_]*)?$/,
    resolve: numberOf,
  },
];

function numberOf(source: string): number {
  const plain = source.replaceAll('_', '');
  // JavaScript reads no sign before a prefix.
  const size = Number(plain.replace(/^[-+]/, ''));
  return plain.startsWith('-') ? -size : size;
}

/** Options of the package yaml. The other tags, whose values are no JSON either, are left out: a set would be read as an empty mapping. */
export const GO_SCALARS = { customTags: [...TEXTS, ...NUMBERS], resolveKnownTags: false };
