import { cpSync, readdirSync, readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { parse, parseDocument, stringify } from 'yaml';
import { runHelm } from '../../test/control-plane/helm.ts';
import { CHART } from '../chart.ts';

export interface ReleasedImage {
  /** Without tag. */
  readonly repository: string;
  /** `sha256:…`; undefined for the tag alone. */
  readonly digest: string | undefined;
}

/** What the chart says where it lies, and what a released one says instead. */
const OF_SOURCES = [
  { file: 'values.yaml', says: '`helm install` needs only the image.', becomes: '`helm install` needs no values.' },
  {
    file: 'values.yaml',
    says: 'The name of your image. docs/install.md says how to build one.',
    becomes: 'The name of the image, without tag.',
  },
  {
    file: 'values.yaml',
    says: 'it wins over the tag.',
    becomes: 'it wins over the tag. Empty: that of the release, as long as repository and tag are those of this file.',
  },
  {
    file: 'README.md',
    says: '**The image is yours to name**: values.yaml names none.',
    becomes:
      '**The image is pinned by its digest.** If you set `image.repository` or `image.tag` to another value, no digest is used unless you set `image.digest`.',
  },
  {
    file: 'README.md',
    says: '\n`files/`, `../install.yaml` and `../rights/` are made by `npm run generate`.\n',
    becomes: '',
  },
];

/**
 * Packs the chart, with the released image as its default and what Artifact Hub reads.
 * @param notes the release's part of the changelog
 * @param homepage of the project; undefined where it has none yet
 * @returns the archive's path
 * @throws Error with what helm printed when it refuses
 */
export async function packChart(
  folder: string,
  scratch: string,
  { repository, digest }: ReleasedImage,
  notes: string,
  homepage: string | undefined,
): Promise<string> {
  const copy = join(scratch, 'taintkeeper');
  cpSync(CHART, copy, { recursive: true });
  for (const { file, says, becomes } of OF_SOURCES) {
    const text = readFileSync(join(copy, file), 'utf8');
    if (!text.includes(says)) throw new Error(`${file} of the chart no longer says "${says}": correct OF_SOURCES`);
    writeFileSync(join(copy, file), text.replace(says, becomes));
  }
  const values = parseDocument(readFileSync(join(copy, 'values.yaml'), 'utf8'));
  values.setIn(['image', 'repository'], repository);
  writeFileSync(join(copy, 'values.yaml'), values.toString({ lineWidth: 0 }));

  const chart = parseDocument(readFileSync(join(copy, 'Chart.yaml'), 'utf8'));
  const version = String(chart.get('version'));
  const image = digest ? `${repository}@${digest}` : `${repository}:${version}`;
  const annotations: Record<string, string> = {
    // Read by templates/_names.tpl. As a value, it would win over the tag that a user gives.
    ...(digest ? { 'taintkeeper.dev/image': image } : {}),
    'artifacthub.io/license': 'Apache-2.0',
    'artifacthub.io/images': stringify([{ name: 'taintkeeper', image, platforms: ['linux/amd64', 'linux/arm64'] }]),
    'artifacthub.io/changes': stringify(changesOf(notes), { lineWidth: 0 }),
    'artifacthub.io/crds': stringify(customResources(), { lineWidth: 0 }),
    ...(homepage ? { 'artifacthub.io/links': stringify([{ name: 'source', url: homepage }]) } : {}),
  };
  chart.set('annotations', annotations);
  if (homepage) {
    chart.set('sources', [homepage]);
    const readme = readFileSync(join(copy, 'README.md'), 'utf8');
    writeFileSync(join(copy, 'README.md'), readme.replaceAll('](../../', `](${homepage}/blob/v${version}/`));
  }
  writeFileSync(join(copy, 'Chart.yaml'), chart.toString({ lineWidth: 0 }));

  for (const args of [
    ['lint', '--strict', copy],
    ['package', copy, '--destination', folder],
  ]) {
    const { code, stdout, stderr } = await runHelm(args);
    if (code !== 0) throw new Error(`helm ${args[0]}: ${stdout}${stderr}`);
  }
  return join(folder, `taintkeeper-${version}.tgz`);
}

const KINDS: Readonly<Record<string, string>> = {
  Added: 'added',
  Changed: 'changed',
  Deprecated: 'deprecated',
  Removed: 'removed',
  Fixed: 'fixed',
  Security: 'security',
};

/** The entries of a section of CHANGELOG.md, as Artifact Hub lists them. */
export function changesOf(notes: string): { kind: string; description: string }[] {
  return notes
    .split(/^### /m)
    .slice(1)
    .flatMap((part) => {
      const [title = '', ...lines] = part.split('\n');
      const entries = lines.join('\n').split(/^- /m).slice(1);
      return entries.map((entry) => ({
        kind: KINDS[title.trim()] ?? 'changed',
        description: entry.replaceAll(/\s+/g, ' ').trim(),
      }));
    });
}

interface CustomResourceDefinition {
  readonly metadata: { readonly name: string };
  readonly spec: {
    readonly names: { readonly kind: string };
    readonly versions: readonly {
      readonly name: string;
      readonly schema: { readonly openAPIV3Schema: { readonly description?: string } };
    }[];
  };
}

function customResources(): object[] {
  const folder = join(CHART, 'files', 'crds');
  return readdirSync(folder)
    .sort()
    .map((file) => {
      const { metadata, spec } = parse(readFileSync(join(folder, file), 'utf8')) as CustomResourceDefinition;
      const [version] = spec.versions;
      return {
        kind: spec.names.kind,
        version: version?.name,
        name: metadata.name,
        displayName: spec.names.kind,
        description: version?.schema.openAPIV3Schema.description ?? spec.names.kind,
      };
    });
}
