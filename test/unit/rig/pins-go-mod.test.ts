import { expect, it } from 'vitest';
import { parseObjects } from '../../control-plane/pins/go.ts';
import { differences, type GoMod, moduleOfTool, stagingModules } from '../../control-plane/pins/go-mod.ts';
import { remedyFor } from '../../control-plane/pins/remedy.ts';

/** As `go mod edit -json` prints it. */
function goMod(
  required: Record<string, string>,
  { replaced = {}, excluded = {} }: { replaced?: Record<string, string>; excluded?: Record<string, string> } = {},
): GoMod {
  const list = (versions: Record<string, string>) =>
    Object.entries(versions).map(([Path, Version]) => ({ Path, Version }));
  return {
    Module: { Path: 'example.com/tools' },
    Go: '1.26.0',
    Require: list(required),
    Exclude: list(excluded),
    Replace: list(replaced).map(({ Path, Version }) => ({ Old: { Path }, New: { Path, Version } })),
    Tool: null,
  };
}

it('the staging modules are those that Kubernetes replaces by folders of its own, or has no version of', () => {
  const kubernetes = {
    ...goMod({
      'k8s.io/api': 'v0.0.0',
      'k8s.io/streaming': 'v0.0.0',
      'k8s.io/klog/v2': 'v2.140.0',
      'example.com/x': 'v0.0.0',
    }),
    Replace: [
      { Old: { Path: 'k8s.io/sample-controller' }, New: { Path: './staging/src/k8s.io/sample-controller' } },
      { Old: { Path: 'k8s.io/api' }, New: { Path: './staging/src/k8s.io/api' } },
      { Old: { Path: 'example.com/y' }, New: { Path: 'example.com/z', Version: 'v1.0.0' } },
    ],
  };
  expect(stagingModules(kubernetes)).toEqual(['k8s.io/api', 'k8s.io/sample-controller', 'k8s.io/streaming']);
});

it('a tool belongs to the module with the longest path', () => {
  const tools = goMod({
    'go.etcd.io/etcd': 'v3.0.0',
    'go.etcd.io/etcd/server/v3': 'v3.6.16',
    'k8s.io/kubernetes': 'v1.36.1',
  });
  expect(moduleOfTool(tools, 'go.etcd.io/etcd/server/v3')).toBe('go.etcd.io/etcd/server/v3');
  expect(moduleOfTool(tools, 'k8s.io/kubernetes/cmd/kubectl')).toBe('k8s.io/kubernetes');
  expect(moduleOfTool(tools, 'k8s.io/kubernetes-more/cmd')).toBeUndefined();
});

it('a difference is one of the versions that are taken, and those are the replacements', () => {
  const before = goMod(
    { 'example.com/gone': 'v1.0.0', 'example.com/same': 'v1.0.0', 'k8s.io/api': 'v0.36.1', 'k8s.io/kubectl': 'v0.0.0' },
    { replaced: { 'k8s.io/api': 'v0.36.1', 'k8s.io/kubectl': 'v0.36.1' } },
  );
  const after = goMod(
    { 'example.com/new': 'v2.0.0', 'example.com/same': 'v1.0.0', 'k8s.io/api': 'v0.0.0', 'k8s.io/kubectl': 'v0.36.1' },
    { replaced: { 'k8s.io/api': 'v0.36.3', 'k8s.io/kubectl': 'v0.36.1' }, excluded: { 'example.com/same': 'v0.9.0' } },
  );
  expect(differences(before, before)).toEqual([]);
  expect(differences(before, after)).toEqual([
    'example.com/gone v1.0.0 -> (none)',
    'example.com/new (none) -> v2.0.0',
    'example.com/same@v0.9.0 (none) -> excluded',
    'k8s.io/api v0.36.1 -> v0.36.3',
  ]);
});

it.each([
  { why: 'go.mod asks for it', required: { 'golang.org/x/net': 'v0.61.0' }, remedy: 'require' },
  { why: 'another module asks for it', required: {}, remedy: 'require' },
  {
    why: 'another module asks for a later one than go.mod',
    required: { 'golang.org/x/net': 'v0.9.0' },
    remedy: 'require',
  },
  { why: 'only its go.mod is wanted', required: { 'golang.org/x/net': 'v0.62.0' }, remedy: 'exclude' },
])('what helps against a missing version where $why: $remedy', ({ required, remedy }) => {
  const missing = { module: 'golang.org/x/net', version: 'v0.61.0', word: '403 Forbidden' };
  expect(remedyFor(missing, goMod(required))).toBe(remedy);
});

it('the objects that Go prints one after the other are read', () => {
  expect(parseObjects('')).toEqual([]);
  expect(parseObjects('{\n\t"A": {\n\t\t"B": "}\\n{"\n\t}\n}\n{\n\t"A": 2\n}\n')).toEqual([
    { A: { B: '}\n{' } },
    { A: 2 },
  ]);
});
