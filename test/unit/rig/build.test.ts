import { chmodSync, existsSync, mkdirSync, readFileSync, writeFileSync } from 'node:fs';
import { delimiter, join } from 'node:path';
import { afterEach, beforeEach, describe, expect, it, vi } from 'vitest';
import { buildModules } from '../../control-plane/build.ts';
import { cacheFolder, type GoModule } from '../../control-plane/go-modules.ts';
import { whyNotBuilt } from '../../control-plane/not-built.ts';
import { temporaryDirectory } from '../temporary-directory.ts';

/** In place of `go`: it builds everything but what is called broken. */
const GO = `#!/bin/sh
case "$*" in
  version) exit 0 ;;
  list*) echo "$GO_MODULE_DIR"; exit 0 ;;
  'mod download'*) echo "{\\"Dir\\": \\"$GO_MODULE_DIR\\"}"; exit 0 ;;
  *broken*) echo 'go: example.com/tools@v1.2.3: reading https://proxy.example/tools.zip: 403 Forbidden' >&2; exit 1 ;;
esac
while [ "$1" != -o ]; do case "$1" in -modfile=*) modfile=\${1#-modfile=} ;; esac; shift; done
if [ "$modfile" ]; then cat "$modfile" "$(dirname "$modfile")/source/main.go" > "$2"; else touch "$2"; fi
`;

let module: GoModule;
let lines: string[];

beforeEach(() => {
  const folder = temporaryDirectory();
  writeFileSync(join(folder, 'go.mod'), 'module x\n\ngo 1.26.0\n\nrequire example.com/tools v1.2.3\n');
  writeFileSync(join(folder, 'go.sum'), '');
  const packages = { one: 'example.com/tools/one', broken: 'example.com/tools/broken', two: 'example.com/tools/two' };
  module = { folder, packages, linkerVariables: () => ({}) };
  lines = [];
  vi.stubEnv('TAINTKEEPER_CONTROL_PLANE_CACHE', temporaryDirectory());
  vi.stubEnv('TAINTKEEPER_NOT_BUILT', '');
});

afterEach(() => vi.unstubAllEnvs());

const build = () => buildModules([module], (line) => lines.push(line));
const isBuilt = (program: string) => existsSync(join(cacheFolder(module), program));

it('a program that does not build stops no other, and what needs it is told why', async () => {
  const bin = temporaryDirectory();
  writeFileSync(join(bin, 'go'), GO);
  chmodSync(join(bin, 'go'), 0o755);
  vi.stubEnv('PATH', `${bin}${delimiter}${process.env.PATH}`);
  await build();
  expect(['one', 'broken', 'two'].map(isBuilt)).toEqual([true, false, true]);
  const reason = 'example.com/tools@v1.2.3 is not served by the module proxy (403 Forbidden)';
  expect(whyNotBuilt(module, 'broken')).toBe(`broken 1.2.3: ${reason}`);
  expect(lines).toContain(`broken 1.2.3 did not build: ${reason}`);
});

it('files of the module are put beside its programs', async () => {
  const bin = temporaryDirectory();
  writeFileSync(join(bin, 'go'), GO);
  chmodSync(join(bin, 'go'), 0o755);
  vi.stubEnv('PATH', `${bin}${delimiter}${process.env.PATH}`);
  const root = temporaryDirectory();
  mkdirSync(join(root, 'crds'));
  writeFileSync(join(root, 'crds', 'x.yaml'), 'kind: X');
  vi.stubEnv('GO_MODULE_DIR', root);
  module = { ...module, packages: { one: 'example.com/tools/one' }, files: ['crds/x.yaml'] };
  await build();
  expect(readFileSync(join(cacheFolder(module), 'x.yaml'), 'utf8')).toBe('kind: X');
});

describe('a module with patches', () => {
  const patch = { file: 'main.go', from: 'bind', to: 'rbind' };
  beforeEach(() => {
    const bin = temporaryDirectory();
    writeFileSync(join(bin, 'go'), GO);
    chmodSync(join(bin, 'go'), 0o755);
    vi.stubEnv('PATH', `${bin}${delimiter}${process.env.PATH}`);
    const root = temporaryDirectory();
    writeFileSync(join(root, 'main.go'), 'mount("bind")');
    vi.stubEnv('GO_MODULE_DIR', root);
    module = { ...module, packages: { one: 'example.com/tools/one' } };
  });

  it('is built from a copy with the patches, beside what is built without them', async () => {
    const unpatched = cacheFolder(module);
    module = { ...module, patches: [patch] };
    expect(cacheFolder(module)).not.toBe(unpatched);
    await build();
    expect(readFileSync(join(cacheFolder(module), 'one'), 'utf8')).toMatch(
      /^replace example\.com\/tools => \S+\/source\nmount\("rbind"\)$/m,
    );
    expect(existsSync(unpatched)).toBe(false);
  });

  it('is not built where a patch has no place', async () => {
    module = { ...module, patches: [{ ...patch, from: 'no such text' }] };
    await build();
    expect(whyNotBuilt(module, 'one')).toBe('one 1.2.3: example.com/tools: main.go has 0 times: no such text');
  });
});

it('without Go nothing is built, and that is said once', async () => {
  vi.stubEnv('PATH', temporaryDirectory());
  await build();
  expect(lines).toEqual(['not built, because Go is not installed: one 1.2.3, broken 1.2.3, two 1.2.3']);
  expect(whyNotBuilt(module, 'two')).toBe(
    'two 1.2.3: not built, because Go is not installed; install Go 1.26 or newer',
  );
});
