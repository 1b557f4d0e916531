import { execFileSync } from 'node:child_process';

/* Imports nothing but Node.js: publish.ts runs without packages. */

interface Descriptor {
  readonly digest: string;
}

/** The digest of the image, or list of images, that an OCI archive holds. @throws Error when it is not one */
export function digestOfArchive(archive: string): string {
  const { manifests } = read(archive, 'index.json') as { manifests: readonly Descriptor[] };
  const [only, ...others] = manifests;
  if (!only || others.length > 0) throw new Error(`${archive} holds ${manifests.length} images, and not one`);
  return only.digest;
}

export interface ArchivedImage {
  /** Such as `linux/arm64`, as its configuration says. */
  readonly platform: string;
  /** The digests of its layers. */
  readonly layers: readonly string[];
}

/** The images of the list that an OCI archive holds, by platform: buildah lists them as they were finished. */
export function imagesOfArchive(archive: string): ArchivedImage[] {
  const blob = (digest: string) => read(archive, pathOf(digest));
  const { manifests } = blob(digestOfArchive(archive)) as { manifests: readonly Descriptor[] };
  const images = manifests.map(({ digest }): ArchivedImage => {
    const { config, layers } = blob(digest) as { config: Descriptor; layers: readonly Descriptor[] };
    const { os, architecture } = blob(config.digest) as { os: string; architecture: string };
    return { platform: `${os}/${architecture}`, layers: layers.map((layer) => layer.digest) };
  });
  return images.sort((a, b) => a.platform.localeCompare(b.platform));
}

/** The number of a machine in the head of an ELF file, and how Go names it. */
const MACHINES: Readonly<Record<number, string>> = { 62: 'amd64', 183: 'arm64' };
const MACHINE_OFFSET = 18;

/** The machine that a program of an image is for. @throws Error when no layer has the program */
export function machineOf(archive: string, layers: readonly string[], program: string): string {
  const script = 'tar -xOf "$1" "$2" | tar -xzO "$3" "./$3" 2>/dev/null | head -c 20';
  for (const layer of layers) {
    const head = execFileSync('sh', ['-c', script, 'sh', archive, pathOf(layer), program]);
    if (head.length < 20) continue;
    const machine = head.readUInt16LE(MACHINE_OFFSET);
    return MACHINES[machine] ?? `machine ${machine}`;
  }
  throw new Error(`no layer has ${program}`);
}

function pathOf(digest: string): string {
  return `blobs/${digest.replace(':', '/')}`;
}

function read(archive: string, file: string): unknown {
  return JSON.parse(execFileSync('tar', ['--extract', '--to-stdout', '--file', archive, file], { encoding: 'utf8' }));
}
