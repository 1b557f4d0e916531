import { expect, it } from 'vitest';
import { createMetrics } from '../../../src/replica/metrics.ts';

/** The samples of metrics that a leader writes, in the order of their names. */
async function samples({ registry }: ReturnType<typeof createMetrics>): Promise<string[]> {
  const lines = (await registry.metrics()).split('\n');
  return lines
    .filter((line) => /^taintkeeper_(drift|stuck|repairs|recoveries|stalled|sweep|queue|watch)_?/.test(line))
    .map((line) => line.replace('taintkeeper_', ''))
    .sort();
}

it('what a leader finds and does is counted by policy', async () => {
  const metrics = createMetrics('test');
  metrics.violating([
    { kind: 'TaintPolicy', policy: 'gpu', count: 3 },
    { kind: 'TaintPolicy', policy: 'deleted', count: 3 },
  ]);
  metrics.violating([
    { kind: 'TaintPolicy', policy: 'gpu', count: 2 },
    { kind: 'TolerationPolicy', policy: 'cni', count: 0 },
    { kind: 'RecoveryPolicy', policy: 'reboot', count: 1 },
  ]);
  metrics.repaired('Node', 'gpu');
  metrics.repaired('Node', 'gpu');
  metrics.repaired('DaemonSet', 'cni');
  metrics.recovered('reboot');
  expect(await samples(metrics)).toEqual([
    'drift_daemonsets{policy="cni"} 0',
    'drift_nodes{policy="gpu"} 2',
    'recoveries_total{policy="reboot"} 1',
    'repairs_total{kind="DaemonSet",policy="cni"} 1',
    'repairs_total{kind="Node",policy="gpu"} 2',
    'stuck_pods{policy="reboot"} 1',
  ]);
});

it('what stalls is shown while it does, each reason once', async () => {
  const metrics = createMetrics('test');
  const conflict = { kind: 'TaintPolicy', policy: 'gpu', reason: 'TaintConflict' } as const;
  metrics.stalled([conflict, conflict, { ...conflict, policy: 'cpu' }]);
  expect(await samples(metrics)).toEqual([
    'stalled{kind="TaintPolicy",policy="cpu",reason="TaintConflict"} 1',
    'stalled{kind="TaintPolicy",policy="gpu",reason="TaintConflict"} 1',
  ]);
  metrics.stalled([conflict]);
  expect(await samples(metrics)).toEqual(['stalled{kind="TaintPolicy",policy="gpu",reason="TaintConflict"} 1']);
});

it('a queue is asked for its depth whenever the metrics are, as long as it is there', async () => {
  const metrics = createMetrics('test');
  let depth = 5;
  metrics.watchQueue('node-repair', () => depth);
  expect(await samples(metrics)).toEqual(['queue_depth{controller="node-repair"} 5']);
  depth = 7;
  expect(await samples(metrics)).toEqual(['queue_depth{controller="node-repair"} 7']);
  metrics.watchQueue('node-repair', undefined);
  expect(await samples(metrics)).toEqual([]);
});

it('a resource that is watched no more is neither connected nor not', async () => {
  const metrics = createMetrics('test');
  metrics.watchState('nodes', true);
  metrics.watchState('daemonsets', false);
  metrics.watchEnded('daemonsets');
  expect(await samples(metrics)).toEqual(['watch_connected{resource="nodes"} 1']);
});

it('a replica that no longer leads exports what it did, and nothing about the cluster state', async () => {
  const metrics = createMetrics('test');
  const kinds = ['TaintPolicy', 'TolerationPolicy', 'RecoveryPolicy'] as const;
  metrics.violating(kinds.map((kind) => ({ kind, policy: 'p', count: 1 })));
  metrics.stalled([{ kind: 'TaintPolicy', policy: 'p', reason: 'TaintConflict' }]);
  metrics.swept('node-repair', 1_500);
  metrics.repaired('Node', 'p');
  expect(await samples(metrics)).toContain('sweep_timestamp_seconds{controller="node-repair"} 1.5');
  metrics.leadershipEnded();
  expect(await samples(metrics)).toEqual(['repairs_total{kind="Node",policy="p"} 1']);
});
