import { stringify } from 'yaml';

export interface KrewArchive {
  /** As krew and Go name it. */
  readonly os: string;
  readonly arch: string;
  readonly url: string;
  readonly sha256: string;
}

/** The manifest by which krew installs `kubectl taintkeeper`. */
export function krewManifest(version: string, homepage: string, archives: readonly KrewArchive[]): string {
  return stringify(
    {
      apiVersion: 'krew.googlecontainertools.github.com/v1alpha2',
      kind: 'Plugin',
      metadata: { name: 'taintkeeper' },
      spec: {
        version: `v${version}`,
        homepage,
        shortDescription: 'Check node taints, their policies and coverage',
        description:
          'Judges manifests against taint policies, finds DaemonSets that do not run everywhere, checks machine configurations ' +
          'of Talos, and says what is wrong with an installation of taintkeeper.',
        platforms: archives.map(({ os, arch, url, sha256 }) => ({
          selector: { matchLabels: { os, arch } },
          uri: url,
          sha256,
          bin: 'taintkeeper',
        })),
      },
    },
    { lineWidth: 0 },
  );
}
