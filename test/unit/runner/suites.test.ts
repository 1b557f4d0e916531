import { join } from 'node:path';
import { expect, it } from 'vitest';
import { asksForRealNodes } from '../../runner/suites.ts';

it.each<{ filter: string[]; project?: string | string[]; asked: boolean }>([
  { filter: [], asked: true },
  { filter: ['test/e2e/explain.test.ts'], asked: false },
  { filter: ['test/e2e/explain.test.ts', 'two-nodes'], asked: true },
  { filter: ['./test/real-node/two-nodes.test.ts:12'], asked: true },
  { filter: [join(import.meta.dirname, '..', '..', 'real-node')], asked: true },
  { filter: ['test/tools'], asked: false },
  { filter: [], project: 'e2e', asked: false },
  { filter: [], project: ['e2e', 'real-node'], asked: true },
  { filter: [], project: '!unit', asked: true },
])('of $filter in $project', ({ filter, project, asked }) => {
  expect(asksForRealNodes(filter, project)).toBe(asked);
});
