import { expect, it } from 'vitest';
import { kubectlLimitMs } from '../../control-plane/kubectl.ts';

it.each([
  { args: ['get', 'nodes'], limitMs: 30_000, why: 'nothing says otherwise' },
  { args: ['delete', 'namespace', 'x', '--timeout=20s'], limitMs: 30_000, why: 'kubectl gives up before' },
  { args: ['drain', 'n1', '--timeout=120s'], limitMs: 130_000, why: 'kubectl ends by itself, and says why' },
])('kubectl $args gets $limitMs ms: $why', ({ args, limitMs }) => {
  expect(kubectlLimitMs(args)).toBe(limitMs);
});
