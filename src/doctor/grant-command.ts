import { OPTIONAL_RIGHTS } from '../cluster/rights/rights.ts';
import type { OptionalRight } from '../policy/required-rights.ts';
import { shellWord } from '../text/printable.ts';
import type { Installation } from './facts/installation.ts';

/** The command that gives taintkeeper the right. A manifest, because `kubectl create clusterrole` refuses kinds that the API server does not serve. */
export function grantCommand(right: OptionalRight, { namespace, account, helmRelease }: Installation): string {
  const { grant, group, resources, verbs } = OPTIONAL_RIGHTS[right];
  if (helmRelease !== undefined) {
    return `helm upgrade ${shellWord(helmRelease)} CHART --namespace ${namespace} --reset-then-reuse-values --set ${grant}=true`;
  }
  const name = `taintkeeper-${right.replaceAll(/[A-Z]/g, (letter) => `-${letter.toLowerCase()}`)}`;
  const apiGroup = 'rbac.authorization.k8s.io';
  const common = { apiVersion: `${apiGroup}/v1`, metadata: { name } };
  const items = [
    { ...common, kind: 'ClusterRole', rules: [{ apiGroups: [group], resources, verbs }] },
    {
      ...common,
      kind: 'ClusterRoleBinding',
      roleRef: { apiGroup, kind: 'ClusterRole', name },
      subjects: [{ kind: 'ServiceAccount', namespace, name: account }],
    },
  ];
  return `echo ${shellWord(JSON.stringify({ apiVersion: 'v1', kind: 'List', items }))} | kubectl apply -f -`;
}
