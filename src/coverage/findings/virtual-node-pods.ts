import { excludingVirtualNodes } from '../../scheduling/obstacle.ts';
import type { CoverageReport, ReportedDaemonSet } from '../report.ts';

/** The pods of a DaemonSet on virtual nodes, which stay Pending. */
interface VirtualNodePods extends Pick<ReportedDaemonSet, 'namespace' | 'name'> {
  readonly nodes: readonly string[];
  /** The change that excludes these nodes. */
  readonly change: string;
}

/** The DaemonSets that get pods on virtual nodes: for each DaemonSet and each label of virtual nodes. */
export function podsOnVirtualNodes({ daemonSets, nodeGroups }: CoverageReport): VirtualNodePods[] {
  const byLabel = [...Map.groupBy(nodeGroups, ({ virtual }) => virtual)];
  return daemonSets.flatMap(({ namespace, name, cells }) => {
    const running = new Set(cells.filter(({ runs }) => runs).map(({ group }) => group));
    return byLabel.flatMap(([virtual, groups]) => {
      const nodes = groups.filter(({ id }) => running.has(id)).flatMap(({ nodes }) => nodes);
      if (virtual === undefined || nodes.length === 0) return [];
      const [key = '', value = ''] = virtual.split('=');
      return [{ namespace, name, nodes, change: excludingVirtualNodes([key, value]) }];
    });
  });
}
