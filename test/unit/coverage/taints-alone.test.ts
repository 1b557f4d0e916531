import { expect, it } from 'vitest';
import { NO_STARTUP_RULES } from '../../../src/coverage/startup-rules.ts';
import { taintsAlone } from '../../../src/coverage/taints-alone.ts';
import type { Taint } from '../../../src/kubernetes/taint.ts';
import { compileCoverage, type SchedulingView } from '../../../src/scheduling/coverage.ts';
import { daemonSet, GPU, MASTER, NOT_READY, node } from '../scheduling/scheduling.ts';

it.each<{ why: string; view?: Partial<SchedulingView>; taints: Taint[]; alone: object | undefined }>([
  { why: 'it runs there', taints: [], alone: undefined },
  { why: 'a selector keeps it off, too', view: { nodeSelector: { pool: 'gpu' } }, taints: [GPU], alone: undefined },
  { why: 'transient taints do', taints: [NOT_READY], alone: { permanent: [], transient: [NOT_READY] } },
  { why: 'permanent taints do', taints: [GPU, MASTER], alone: { permanent: [GPU, MASTER], transient: [] } },
  { why: 'both do', taints: [GPU, NOT_READY], alone: { permanent: [GPU], transient: [NOT_READY] } },
])('the taints that alone keep a DaemonSet off a node: $why', ({ view = {}, taints, alone }) => {
  const tainted = node('n', taints);
  const coverage = compileCoverage(daemonSet('a', view))(tainted);
  expect(taintsAlone(coverage, undefined, tainted, NO_STARTUP_RULES)).toEqual(alone);
});
