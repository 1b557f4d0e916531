import { neededRights, optionalRights } from './rights.ts';

/** The reference page of the rights of taintkeeper's ServiceAccount. */
export function rightsPage(): string {
  // The reasons link to pages of docs/.
  const fromReference = (table: string) => `${table.replaceAll('](', '](../')}\n`;
  return [
    "# Rights of taintkeeper's ServiceAccount\n",
    'The ServiceAccount `taintkeeper` has these rights, and no others ([ClusterRole](../../manifests/chart/templates/cluster-role.yaml), ' +
      '[Role](../../manifests/chart/templates/role.yaml), [rights](../../manifests/chart/templates/rights.yaml)). ' +
      '[Security](../security.md#rights-of-taintkeeper) says what they allow a user with a stolen token, and how to limit them further. ' +
      'This command lists them in your cluster:\n',
    '```sh\nkubectl auth can-i --list --namespace taintkeeper --as system:serviceaccount:taintkeeper:taintkeeper\n```\n',
    '## In the whole cluster\n',
    fromReference(neededRights('cluster')),
    '## By a value of the chart\n',
    'The default policies do not need these rights, so they are off. Each value has a ClusterRole of its own.\n',
    fromReference(optionalRights()),
    `Grant a right by the value, or with kubectl by the file, from a checkout of the version that is installed:

\`\`\`sh
helm upgrade taintkeeper manifests/chart --namespace taintkeeper --reset-then-reuse-values --set recoverPods=true   # or:
kubectl apply -f manifests/rights/recover-pods.yaml
\`\`\`

The files are for the namespace \`taintkeeper\`. For another one: \`sed 's/namespace: taintkeeper$/namespace: NAMESPACE/' FILE | kubectl apply -f -\`.

- **A missing right** disables only what needs it. \`taintkeeper doctor\` names the right, and so does the status of the policy: the condition \`Stalled\` has the reason
  \`NotPermitted\`, or \`BackstopNotInForce\` for native policies. A TolerationRestriction has \`Ready\` False with the reason \`NotPermitted\`. If
  \`listNodePools\` is missing, \`Ready\` stays True with the reason \`PoolsNotPermitted\`.
- **A new right** is noticed within ten seconds if a policy needs it. \`listNodePools\` is noticed within a minute.
- **To remove a right**, run \`helm upgrade\` with \`false\`, or \`kubectl delete -f\` with the file. For native policies, [first remove the
  objects](../native-policies.md#rights-and-removal).
`,
    '## In its own namespace\n',
    fromReference(neededRights('namespace')),
  ].join('\n');
}
