import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { expect, it } from 'vitest';
import { sourceFiles } from '../../../../scripts/rooms.ts';
import { importKubeConfig, importWebSocketHandler } from '../../../../src/cluster/client/client-node.ts';

const PACKAGE = join(import.meta.dirname, '../../../../node_modules/@kubernetes/client-node/package.json');

it('the client has no exports, so its files are imported by their paths', () => {
  // If it gets them: import what they name, in client-node.ts.
  expect(JSON.parse(readFileSync(PACKAGE, 'utf8'))).not.toHaveProperty('exports');
});

it('the files have the classes', async () => {
  expect((await importKubeConfig()).KubeConfig).toBeTypeOf('function');
  expect((await importWebSocketHandler()).WebSocketHandler).toBeTypeOf('function');
});

it('one file imports the client', () => {
  const importing = sourceFiles().filter(({ packages }) =>
    packages.some((name) => name.startsWith('@kubernetes/client-node')),
  );
  expect(importing.map(({ path }) => path)).toEqual(['cluster/client/client-node.ts']);
});
