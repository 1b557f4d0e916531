import { execFileSync } from 'node:child_process';
import { createHash } from 'node:crypto';
import { mkdirSync, writeFileSync } from 'node:fs';
import { dirname, join } from 'node:path';
import { expect, it } from 'vitest';
import { checkPlatforms } from '../../../scripts/release/image.ts';
import { temporaryDirectory } from '../temporary-directory.ts';

const MACHINES = { amd64: 62, arm64: 183 } as const;
type Machine = keyof typeof MACHINES;

/** Writes an OCI archive with an image for each architecture, whose Node.js is for a machine. */
function archiveOf(...images: readonly { architecture: Machine; node: Machine }[]): string {
  const folder = temporaryDirectory();
  mkdirSync(join(folder, 'blobs', 'sha256'), { recursive: true });
  const add = (content: string | Buffer) => {
    const digest = createHash('sha256').update(content).digest('hex');
    writeFileSync(join(folder, 'blobs', 'sha256', digest), content);
    return { digest: `sha256:${digest}` };
  };
  const manifests = images.map(({ architecture, node }) => {
    const config = add(JSON.stringify({ os: 'linux', architecture }));
    return add(
      JSON.stringify({ config, layers: [add(layer('etc/passwd', '')), add(layer('nodejs/bin/node', elf(node)))] }),
    );
  });
  writeFileSync(join(folder, 'index.json'), JSON.stringify({ manifests: [add(JSON.stringify({ manifests }))] }));
  const archive = join(temporaryDirectory(), 'image.tar');
  execFileSync('tar', ['--create', '--file', archive, '--directory', folder, 'blobs', 'index.json']);
  return archive;
}

function layer(file: string, content: string | Buffer): Buffer {
  const folder = temporaryDirectory();
  mkdirSync(dirname(join(folder, file)), { recursive: true });
  writeFileSync(join(folder, file), content);
  return execFileSync('tar', ['--create', '--gzip', '--directory', folder, file]);
}

function elf(machine: Machine): Buffer {
  const head = Buffer.alloc(64);
  head.writeUInt16LE(MACHINES[machine], 18);
  return head;
}

const AMD64 = { architecture: 'amd64', node: 'amd64' } as const;
const ARM64 = { architecture: 'arm64', node: 'arm64' } as const;
const BOTH = ['linux/amd64', 'linux/arm64'];

it('an image is for its platform if its Node.js is, in whatever order the list has them', () => {
  expect(() => checkPlatforms(archiveOf(ARM64, AMD64), BOTH)).not.toThrow();
});

it.each([
  ['an image with the Node.js of another platform', [AMD64, { ...ARM64, node: 'amd64' }] as const],
  ['a platform that is missing', [AMD64] as const],
])('refuses %s', (_what, images) => {
  expect(() => checkPlatforms(archiveOf(...images), BOTH)).toThrow('not for linux/amd64,linux/arm64');
});
