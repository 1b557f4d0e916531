import { execFileSync, spawnSync } from 'node:child_process';
import type { Workspace } from '../control-plane/workspace.ts';

/** What buildah knows of an image (its OCI configuration), as far as it is looked at here. */
export interface ImageConfig {
  readonly User: string;
  readonly Entrypoint: readonly string[];
  readonly Cmd: readonly string[];
  readonly Env: readonly string[];
  readonly WorkingDir: string;
  readonly ExposedPorts: Readonly<Record<string, object>>;
  readonly Labels: Readonly<Record<string, string>>;
}

export interface ImageBuild {
  readonly dockerfile: string;
  readonly context: string;
  readonly args?: Readonly<Record<string, string>>;
  /** The time of all files and of the image, in seconds since 1970: the same build then has the same digest, if it is reproducible. */
  readonly timestamp?: number;
  /** Pulls base images that are not there; without it, that is an error. */
  readonly pull?: boolean;
  /** Such as `linux/arm64`: the tag is then the name of a list with an image for each. */
  readonly platforms?: readonly string[];
}

/** Builds and opens images, in a storage of its own. */
export interface Buildah {
  /** @throws Error with what was printed when the build fails */
  build(tag: string, options: ImageBuild): void;
  config(tag: string): ImageConfig;
  /** Pulls an image for the platform. @throws Error with what was printed when the registry does not answer */
  pull(image: string, platform: string): void;
  /** Writes the image, under its name, to an archive that container runtimes import. */
  save(tag: string, archive: string): void;
  /** The same for a list and all of its images. */
  saveList(tag: string, archive: string): void;
  /** The image's files, as a folder, with the image's own as upper layer: whatever is written there stays out of the image. */
  mount(tag: string): string;
}

/** Why no image can be built and run here; `undefined` if one can. */
export function imageObstacle(): string | undefined {
  if (process.getuid?.() !== 0) return 'needs root';
  const tools = { buildah: ['--version'], setpriv: ['--version'], chroot: ['--version'], unshare: ['--mount', 'true'] };
  const missing = Object.entries(tools).find(([tool, args]) => spawnSync(tool, args).status !== 0);
  return missing ? `no working ${missing[0]}` : undefined;
}

export function createBuildah(workspace: Workspace): Buildah {
  // vfs needs no overlay mounts, and chroot no namespaces: both work in a container, too.
  const storage = ['--storage-driver', 'vfs', '--root', workspace.path('storage'), '--runroot', workspace.path('run')];
  const env = { ...process.env, BUILDAH_ISOLATION: 'chroot' };
  const run = (command: string, ...args: string[]) =>
    execFileSync('buildah', [...storage, command, ...args], {
      encoding: 'utf8',
      env,
      stdio: ['ignore', 'pipe', 'pipe'],
    }).trim();

  return {
    build: (tag, { dockerfile, context, args = {}, timestamp, pull = false, platforms }) => {
      const buildArgs = Object.entries(args).flatMap(([name, value]) => ['--build-arg', `${name}=${value}`]);
      const time = timestamp === undefined ? [] : ['--timestamp', String(timestamp)];
      run(
        'build',
        '--network',
        'host',
        ...(pull ? [] : ['--pull-never']),
        ...(platforms ? ['--platform', platforms.join(), '--manifest', tag] : ['--tag', tag]),
        '--file',
        dockerfile,
        ...time,
        ...buildArgs,
        context,
      );
    },
    config: (tag) =>
      (JSON.parse(run('inspect', '--type', 'image', tag)) as { OCIv1: { config: ImageConfig } }).OCIv1.config,
    pull: (image, platform) => {
      run('pull', '--quiet', '--platform', platform, image);
    },
    save: (tag, archive) => {
      run('push', tag, `oci-archive:${archive}:${tag}`);
    },
    saveList: (tag, archive) => {
      run('manifest', 'push', '--all', tag, `oci-archive:${archive}:${tag}`);
    },
    mount: (tag) => run('mount', run('from', '--pull-never', tag)),
  };
}
