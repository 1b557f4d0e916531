import { basename } from 'node:path';
import { GRANTS, OPTIONAL_RIGHTS } from '../cluster/rights/rights.ts';
import type { OptionalRight } from '../policy/required-rights.ts';
import { shellWord } from '../text/printable.ts';
import type { Installation } from './facts/installation.ts';

/**
 * The command that gives taintkeeper the right. A manifest, because `kubectl create clusterrole` refuses kinds that the API server does not serve. It
 * has the names, the rules and the label of the file in manifests/rights, so that what takes that grant away takes away this one too.
 */
export function grantCommand(right: OptionalRight, { namespace, account, helmRelease }: Installation): string {
  const { grant } = OPTIONAL_RIGHTS[right];
  if (helmRelease !== undefined) {
    return `helm upgrade ${shellWord(helmRelease)} CHART --namespace ${namespace} --reset-then-reuse-values --set ${grant}=true`;
  }
  const name = `taintkeeper-${basename(GRANTS[grant].file, '.yaml')}`;
  const rules = Object.values(OPTIONAL_RIGHTS)
    .filter((rule) => rule.grant === grant)
    .map(({ group, resources, verbs }) => ({ apiGroups: [group], resources, verbs }));
  const apiGroup = 'rbac.authorization.k8s.io';
  const common = {
    apiVersion: `${apiGroup}/v1`,
    metadata: { name, labels: { 'app.kubernetes.io/name': 'taintkeeper' } },
  };
  const items = [
    { ...common, kind: 'ClusterRole', rules },
    {
      ...common,
      kind: 'ClusterRoleBinding',
      roleRef: { apiGroup, kind: 'ClusterRole', name },
      subjects: [{ kind: 'ServiceAccount', namespace, name: account }],
    },
  ];
  return `echo ${shellWord(JSON.stringify({ apiVersion: 'v1', kind: 'List', items }))} | kubectl apply -f -`;
}
