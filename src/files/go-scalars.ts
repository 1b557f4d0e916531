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

/** The formats of dates that go-yaml decodes (allowedTimestampFormats of its resolver). */
const TIMESTAMP =
  /^(\d{4})-(\d{1,2})-(\d{1,2})(?:[Tt](\d{1,2}):(\d{1,2}):(\d{1,2})(?:\.\d+)?(?:Z|[-+]\d{2}:\d{2})| (\d{1,2}):(\d{1,2}):(\d{1,2})(?:\.\d+)?)?$/;

/** Whether Go reads a text without quotes as a date: it has one of its formats, and there is such a day and such a time. */
export function isGoTimestamp(value: string): boolean {
  const found = TIMESTAMP.exec(value);
  if (!found) return false;
  const [year = 0, month = 0, day = 0, ...time] = found
    .slice(1)
    .flatMap((part) => (part === undefined ? [] : Number(part)));
  const [hour = 0, minute = 0, second = 0] = time;
  // Day 0 of the next month is the last one of this month.
  const lastDay = new Date(Date.UTC(year, month, 0)).getUTCDate();
  return month >= 1 && month <= 12 && day >= 1 && day <= lastDay && hour < 24 && minute < 60 && second < 60;
}
