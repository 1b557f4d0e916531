import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { parse, parseAllDocuments } from 'yaml';
import { ROOT } from './run.ts';

/** A place that names the version of this project. */
export interface NamedVersion {
  readonly place: string;
  readonly version: string | undefined;
}

/** Pages and manifests whose examples name the image with its version. */
export const NAMING_THE_IMAGE = ['docs/install.md', 'manifests/kustomization.yaml'];

/** Every place that does. */
export function namedVersions(): NamedVersion[] {
  const read = (file: string) => readFileSync(join(ROOT, file), 'utf8');
  const json = (file: string) =>
    JSON.parse(read(file)) as { version: string; packages: Record<string, { version?: string }> };
  const chart = parse(read('manifests/chart/Chart.yaml')) as { version: string; appVersion: string };
  return [
    { place: 'package.json', version: json('package.json').version },
    { place: 'package-lock.json', version: json('package-lock.json').packages['']?.version },
    { place: 'Chart.yaml version', version: chart.version },
    { place: 'Chart.yaml appVersion', version: chart.appVersion },
    ...NAMING_THE_IMAGE.flatMap((place) =>
      [...read(place).matchAll(/(?<![\d.])\d+\.\d+\.\d+(?![\d.]*\d)/g)].map(([found]) => ({ place, version: found })),
    ),
    ...imagesOf(read('manifests/install.yaml')).map((image) => ({
      place: 'install.yaml image',
      version: image.slice(image.lastIndexOf(':') + 1),
    })),
  ];
}

/** The images of all Deployments of a manifest. */
export function imagesOf(manifest: string): string[] {
  return parseAllDocuments(manifest)
    .map((document) => document.toJS() as Workload | null)
    .flatMap((object) => object?.spec?.template?.spec?.containers ?? [])
    .map(({ image }) => image);
}

interface Workload {
  readonly spec?: {
    readonly template?: { readonly spec?: { readonly containers: readonly { readonly image: string }[] } };
  };
}
