import { RIGHTS_TABLES } from './rights.ts';

/** The reference page of the rights of taintkeeper's ServiceAccount. */
export function rightsPage(): string {
  // The reasons link to pages of docs/.
  const tableOf = (name: keyof typeof RIGHTS_TABLES) => `${RIGHTS_TABLES[name]().replaceAll('](', '](../')}\n`;
  return [
    "# Rights of taintkeeper's ServiceAccount\n",
    'The ServiceAccount has these rights, and no others ([ClusterRole](../../manifests/chart/templates/cluster-role.yaml), ' +
      '[Role](../../manifests/chart/templates/role.yaml), [rights](../../manifests/chart/templates/rights.yaml)). ' +
      '[Security](../security.md#rights-of-taintkeeper) says what they allow a user with a stolen token, and how to limit them further.\n',
    '## In the whole cluster\n',
    tableOf('rights in the cluster'),
    '## By a value of the chart\n',
    'Each [value](../install.md#rights) grants its rights by a ClusterRole of its own.\n',
    tableOf('optional rights'),
    '## In its own namespace\n',
    tableOf('rights in the namespace'),
  ].join('\n');
}
