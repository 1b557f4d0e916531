import { describe, expect, it } from 'vitest';
import { stringify } from 'yaml';
import { allConflicts, type Conflict } from '../../../../src/talos/document-conflicts.ts';
import { documentLife } from '../../../../src/talos/fields.ts';
import { FIRST_VERSION, LAST_VERSION } from '../../../../src/talos/versions.ts';
import { inShort, lintText } from './linted-files.ts';

const VERSIONS = Array.from({ length: LAST_VERSION - FIRST_VERSION + 1 }, (_, index) => FIRST_VERSION + index);

/** A configuration that has both: the field of the older shape, with that value, and the document. */
function both({ kind, path, when }: Conflict, value: unknown): string {
  const older = path.reduceRight<unknown>((below, name) => ({ [name]: below }), value) as object;
  const newer = Object.fromEntries(
    when.map((each) => ('name' in each ? ['name', each.name] : [each.field, { enabled: true }])),
  );
  const documents = [
    'machine' in older ? older : { machine: { type: 'controlplane' }, ...older },
    { apiVersion: 'v1alpha1', kind, ...newer },
  ];
  return documents.map((document) => stringify(document)).join('---\n');
}

const FULL = { set: {}, full: ['a'], true: true } as const;
const EMPTY = { set: null, full: [], true: false } as const;

describe.each(allConflicts())('$kind beside $path', (conflict) => {
  const rules = (value: unknown, version?: number) =>
    lintText(both(conflict, value), { version })
      .filter(({ rule }) => rule === 'two-shapes')
      .map(({ field }) => field);

  it('is refused by the versions that have the document, and no other', () => {
    const refusing = VERSIONS.filter((version) => rules(FULL[conflict.test], version).length > 0);
    const from = Math.max(conflict.since, documentLife(conflict.kind)?.since ?? 0);
    expect(refusing).toEqual(VERSIONS.filter((version) => version >= from && version <= conflict.until));
  });

  it('says nothing of what is not there, or false', () => {
    for (const version of [undefined, ...VERSIONS]) {
      if (conflict.test !== 'set')
        expect(rules(EMPTY[conflict.test], version).filter(isSame(conflict, version))).toEqual([]);
      expect(rules(null, version)).toEqual([]);
    }
  });
});

/** Of one field, an empty list is refused from a later version on. */
function isSame({ kind, path }: Conflict, version = 0) {
  const wider = allConflicts().some(
    (other) =>
      other.kind === kind && other.path.join() === path.join() && other.test === 'set' && version >= other.since,
  );
  return () => !wider;
}

describe('two shapes', () => {
  const beside = (kind: string, rest = '') => `---\napiVersion: v1alpha1\nkind: ${kind}\n${rest}\n`;

  it('a search domain that is not switched off is no conflict', () => {
    const text = `machine: { network: { disableSearchDomain: false } }\n${beside('ResolverConfig')}`;
    expect(lintText(text).map(inShort)).toEqual([]);
  });

  it('one finding of a field that two documents refuse', () => {
    const text = `cluster: { network: { dnsDomain: a.example } }\n${beside('KubeNetworkConfig')}${beside('KubeFlannelCNIConfig')}`;
    expect(lintText(text).map((finding) => `${inShort(finding)}: ${finding.reason}`)).toEqual([
      expect.stringMatching(
        /^1:12 two-shapes cluster\.network: beside documents of kind KubeFlannelCNIConfig and KubeNetworkConfig \(f\.yaml:7:1, f\.yaml:3:1\)/,
      ),
    ]);
  });

  it('an encrypted volume, and no other, is refused beside the encryption of the same in the older shape', () => {
    const text = (name: string, rest: string) =>
      `machine: { systemDiskEncryption: { state: {} } }\n${beside('VolumeConfig', `name: ${name}\n${rest}`)}`;
    const found = (name: string, rest: string) => lintText(text(name, rest)).map(({ rule }) => rule);
    expect(found('STATE', 'encryption: { provider: luks2 }')).toEqual(['two-shapes']);
    expect(found('STATE', '')).toEqual([]);
    expect(found('EPHEMERAL', 'encryption: { provider: luks2 }')).toEqual([]);
  });
});

describe('documents of one name', () => {
  const link = (kind: string, name: string) => `apiVersion: v1alpha1\nkind: ${kind}\nname: ${name}\n`;

  it.each([
    ['LinkConfig', 'BondConfig', 12, ['7:1 same-name name']],
    ['LinkConfig', 'VRFConfig', 13, ['7:1 same-name name']],
    ['Layer2VIPConfig', 'HCloudVIPConfig', undefined, ['7:1 same-name name']],
    ['UserVolumeConfig', 'ExistingVolumeConfig', 11, ['7:1 same-name name']],
    ['UserVolumeConfig', 'LinkConfig', 12, []],
    ['LinkConfig', 'LinkAliasConfig', 12, []],
  ])('%s and %s in 1.%s', (one, other, version, expected) => {
    expect(lintText(`${link(one, 'a')}---\n${link(other, 'a')}`, { version }).map(inShort)).toEqual(expected);
    expect(lintText(`${link(one, 'a')}---\n${link(other, 'b')}`, { version })).toEqual([]);
  });
});

it('documents that only control planes may have', () => {
  const text = (type: string) => `machine: { type: ${type} }\n---\napiVersion: v1alpha1\nkind: KubeSchedulerConfig\n`;
  expect(lintText(text('worker')).map(inShort)).toEqual(['4:1 control-plane-document kind']);
  expect(lintText(text('worker'), { version: 13 }).map(inShort)).toEqual(['4:1 field-version kind']);
  expect(lintText(text('controlplane'))).toEqual([]);
});
