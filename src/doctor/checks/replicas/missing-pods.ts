import { OWN_LABEL } from '../../../cluster/installation/own-names.ts';
import { type Finding, finding } from '../../check.ts';
import type { Facts } from '../../facts/facts.ts';
import { reinstall } from '../../reinstall.ts';
import { deploymentOf } from '../../restart.ts';

/** The problem that the Service selects no pod, and why. @param evidence that it selects none */
export function missingPods(
  evidence: string,
  { installation, search }: Pick<Facts, 'installation' | 'search'>,
): Finding {
  const { namespace, deployment } = installation;
  if (deployment?.replicas === 0) {
    const told = `${evidence}: Deployment ${namespace}/${deployment.name} is scaled to 0`;
    return finding(
      'problem',
      told,
      `kubectl scale --namespace ${namespace} ${deploymentOf(installation)} --replicas=2`,
    );
  }
  if (deployment) {
    const told = `${evidence}, though Deployment ${namespace}/${deployment.name} has ${deployment.replicas} replicas`;
    return finding('problem', told, `kubectl describe replicaset --namespace ${namespace} --selector=${OWN_LABEL}`);
  }
  if (search.blind === undefined) {
    return finding('problem', `${evidence}, and there is no Deployment`, reinstall(installation));
  }
  return finding('problem', evidence, `kubectl get deployment,pod --namespace ${namespace} --show-labels`);
}
