import { stringify } from 'yaml';

export interface KrewArchive {
  /** As krew and Go name it. */
  readonly os: string;
  readonly arch: string;
  readonly url: string;
  readonly sha256: string;
}

const PLUGIN = 'taintkeeper';
/** krew asks for the plugin's name. */
export const KREW_MANIFEST = `${PLUGIN}.yaml`;

/** The manifest by which krew installs `kubectl taintkeeper`. */
export function krewManifest(version: string, homepage: string, archives: readonly KrewArchive[]): string {
  return stringify(
    {
      apiVersion: 'krew.googlecontainertools.github.com/v1alpha2',
      kind: 'Plugin',
      metadata: { name: PLUGIN },
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
