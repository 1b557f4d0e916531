import { expect } from 'vitest';
import type { CoverageReport } from '../../src/coverage/report.ts';
import type { ControlPlane } from '../control-plane/control-plane.ts';
import type { ToolResult } from '../control-plane/run-tool.ts';
import { admin } from '../control-plane/users.ts';
import { pair } from './coverage-comparison.ts';
import { runAs } from './run-taintkeeper.ts';

/** Runs `taintkeeper coverage`, or a command below it, against the cluster, as the admin. */
export async function runCoverage(cp: ControlPlane, ...args: string[]): Promise<ToolResult> {
  return runAs(admin, cp, ['coverage', ...args]);
}

/** What it prints with `-o json`. */
export async function readCoverage(cp: ControlPlane, ...args: string[]): Promise<CoverageReport> {
  const { stdout, stderr } = await runCoverage(cp, '-o', 'json', ...args);
  if (stderr) throw new Error(stderr);
  return JSON.parse(stdout) as CoverageReport;
}

/** Where there are pods, by the report, as {@link pair}s. */
export function podsIn({ nodeGroups, daemonSets }: CoverageReport): Set<string> {
  const nodesOf = new Map(nodeGroups.map(({ id, nodes }) => [id, nodes]));
  return new Set(
    daemonSets.flatMap(({ name, cells }) =>
      cells.flatMap(({ group, runs, pods }) => {
        if (!pods) throw new Error(`coverage did not read the pods of ${name}`);
        const missing = new Set(pods.missing.map(({ node }) => node));
        const there = runs ? (nodesOf.get(group) ?? []).filter((node) => !missing.has(node)) : pods.staying;
        expect(there).toHaveLength(pods.scheduled);
        return there.map((node) => pair(name, node));
      }),
    ),
  );
}

/** How many pairs of a DaemonSet and a node the report speaks of. */
export function countPairs({ nodeGroups, daemonSets }: CoverageReport): number {
  const nodesOf = new Map(nodeGroups.map(({ id, nodes }) => [id, nodes.length]));
  return daemonSets.flatMap(({ cells }) => cells).reduce((sum, { group }) => sum + (nodesOf.get(group) ?? 0), 0);
}
