import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { expect, it } from 'vitest';
import { isTransientTaintKey } from '../../../src/kubernetes/transient-taints.ts';
import { AUTOSCALER_STARTUP_PREFIX, isKnownToKarpenter } from '../../../src/node-pools/node-pool.ts';
import { ROOT } from './pages.ts';

const PAGE = readFileSync(join(ROOT, 'docs/autoscalers.md'), 'utf8');
const [, IGNORED = ''] = /^## Startup taints that each autoscaler ignores\n([\s\S]*?)^## /m.exec(PAGE) ?? [];

/** The keys, prefixes and patterns of taints that the row of an autoscaler has, without effects. */
function keysOf(autoscaler: string): string[] {
  const row = IGNORED.split('\n').find((line) => line.startsWith(`| ${autoscaler} |`)) ?? '';
  return [...row.matchAll(/`([^`\s]+\/[^`\s]*)`/g)].map(([, key = '']) => key.replace(/:\w+$/, ''));
}

const exampleOf = (key: string) => key.replace(/\/\*?$/, '/example');

it.each(['Karpenter', 'Cluster Autoscaler'])('%s ignores keys that no DOMAIN/* of a policy covers', (autoscaler) => {
  const keys = keysOf(autoscaler);
  expect(keys.length).toBeGreaterThan(2);
  expect(keys.filter((key) => !isTransientTaintKey(exampleOf(key)))).toEqual([]);
});

it('the leader asks for none of those of Karpenter in a NodePool, except those of node conditions', () => {
  const keys = keysOf('Karpenter').filter((key) => !key.startsWith('node.kubernetes.io/'));
  expect(keys.filter((key) => !isKnownToKarpenter(exampleOf(key)))).toEqual([]);
});

it('the keys of the recipes that wait have the prefix that the page names', () => {
  expect(keysOf('Cluster Autoscaler')).toContain(AUTOSCALER_STARTUP_PREFIX);
  const recipes =
    readFileSync(join(ROOT, 'docs/startup-taints.md'), 'utf8').split('\n## ensure: UntilReady', 1)[0] ?? '';
  const waiting = [...recipes.matchAll(/- key: (\S+)\n +effect: NoSchedule\n +ensure: UntilReady/g)].map(
    ([, key]) => key,
  );
  expect(waiting.length).toBeGreaterThan(3);
  expect(waiting.filter((key) => !key?.startsWith(AUTOSCALER_STARTUP_PREFIX))).toEqual([]);
});
