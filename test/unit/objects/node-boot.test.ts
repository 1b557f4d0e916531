import jsonPatch from 'fast-json-patch';
import { expect, it } from 'vitest';
import { asNode, patchNode, viewNodeBoot } from '../../../src/objects/node-object.ts';

const BOOT = 'taintkeeper.dev/startup-boot';
const RELEASE = 'taintkeeper.dev/allow-removal';

const nodeWith = (annotations: unknown, status?: unknown) =>
  asNode({ metadata: { name: 'n', annotations }, spec: {}, status }, []);

it.each<{ why: string; annotations?: unknown; status?: unknown; boot: object }>([
  {
    why: 'both',
    annotations: { [BOOT]: 'A' },
    status: { nodeInfo: { bootID: 'B' } },
    boot: { bootId: 'B', startupBoot: { bootId: 'A' } },
  },
  { why: 'an empty boot ID', status: { nodeInfo: { bootID: '' } }, boot: {} },
  { why: 'a boot ID of another type', status: { nodeInfo: { bootID: 1 } }, boot: {} },
  { why: 'null everywhere', annotations: null, status: { nodeInfo: null }, boot: {} },
  { why: 'no status', status: null, boot: {} },
])('the boot of a Node with $why', ({ annotations, status, boot }) => {
  expect(viewNodeBoot(nodeWith(annotations, status))).toEqual(boot);
});

it.each([
  { why: 'without annotations', before: undefined, after: { [BOOT]: 'A' } },
  { why: 'with null', before: null, after: { [BOOT]: 'A' } },
  { why: 'with others', before: { a: 'b' }, after: { a: 'b', [BOOT]: 'A' } },
  { why: 'with another boot and an entry', before: { [RELEASE]: 'x', [BOOT]: 'B' }, after: { [BOOT]: 'A' } },
])('the patch writes the boot into a Node $why', ({ before, after }) => {
  const node = nodeWith(before);
  const patch = patchNode(node, { taints: [], allowRemoval: undefined, startupBoot: { bootId: 'A' } });
  expect(jsonPatch.applyPatch(structuredClone(node), patch).newDocument.metadata.annotations).toEqual(after);
});

it('the patch leaves the boot where nothing is to be written', () => {
  expect(patchNode(nodeWith({ [BOOT]: 'B' }), { taints: [], allowRemoval: undefined })).toEqual([]);
});
