import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { parse, parseAllDocuments } from 'yaml';
import { ROOT } from './run.ts';

/** A place that names the version of this project. */
export interface NamedVersion {
  readonly file: string;
  readonly place: string;
  readonly version: string | undefined;
}

/** Pages and manifests whose examples name the image with its version. */
export const NAMING_THE_IMAGE = ['docs/install.md', 'docs/quickstart.md', 'manifests/kustomization.yaml'];

/** Every place that does. */
export function namedVersions(): NamedVersion[] {
  const read = (file: string) => readFileSync(join(ROOT, file), 'utf8');
  const json = (file: string) =>
    JSON.parse(read(file)) as { version: string; packages: Record<string, { version?: string }> };
  const chart = 'manifests/chart/Chart.yaml';
  const { version, appVersion } = parse(read(chart)) as { version: string; appVersion: string };
  const install = 'manifests/install.yaml';
  return [
    { file: 'package.json', place: 'package.json', version: json('package.json').version },
    { file: 'package-lock.json', place: 'package-lock.json', version: json('package-lock.json').packages['']?.version },
    { file: chart, place: 'Chart.yaml version', version },
    { file: chart, place: 'Chart.yaml appVersion', version: appVersion },
    ...NAMING_THE_IMAGE.flatMap((file) =>
      [...read(file).matchAll(/(?<![\d.])\d+\.\d+\.\d+(?![\d.]*\d)/g)].map(([found]) => ({
        file,
        place: file,
        version: found,
      })),
    ),
    ...imagesOf(read(install)).map((image) => ({
      file: install,
      place: 'install.yaml image',
      version: image.slice(image.lastIndexOf(':') + 1),
    })),
  ];
}

/** @throws Error when places disagree */
export function agreedVersion(named = namedVersions()): string {
  const version = named[0]?.version;
  if (version !== undefined && named.every((one) => one.version === version)) return version;
  throw new Error(named.map(({ place, version: said }) => `${place} says ${said}`).join(', '));
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
