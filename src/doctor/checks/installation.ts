import { OWN_CLUSTER_ROLE_BINDING, OWN_NAMESPACE } from '../../cluster/installation/own-names.ts';
import { essentialSkip, type Finding, finding } from '../check.ts';
import type { Facts } from '../facts/facts.ts';
import type { Installation } from '../facts/installation.ts';

/** Checks that taintkeeper is installed, and once. */
export function checkInstallation({ search }: Pick<Facts, 'search'>): Finding {
  const { choice, found, unconfirmed, chosen, blind } = search;
  const [first, ...others] = found;
  const [labelled] = unconfirmed;
  if (first === undefined) {
    if (labelled !== undefined && chosen === undefined) {
      return finding(
        'problem',
        `${placesOf(unconfirmed)} has the label of taintkeeper, which every user who may create a Deployment can set. No webhook calls it, and ClusterRoleBinding ${OWN_CLUSTER_ROLE_BINDING} does not name its namespace, or you may not read these`,
        `if that is taintkeeper: taintkeeper doctor --namespace ${labelled.namespace}`,
      );
    }
    if (blind !== undefined) return essentialSkip(blind);
    // The webhooks or the user named a Service: the check of the Service tells whether it exists.
    if (chosen) return finding('skipped', 'neither a Deployment nor a Service of taintkeeper was found: see Service');
    return finding(
      'problem',
      'taintkeeper is not installed in this cluster: there is no Deployment or Service of it, and no webhook',
      `with Helm: helm install taintkeeper CHART --namespace ${OWN_NAMESPACE} --create-namespace; without Helm: kubectl apply -f install.yaml`,
    );
  }
  if (chosen === undefined) {
    return finding(
      'problem',
      `taintkeeper is not installed in namespace ${choice.namespace}: it is ${placesOf(found)}`,
      `taintkeeper doctor --namespace ${first.namespace}`,
    );
  }
  // The installation to check was not seen, because the user may not read everything there: the facts are not about the one that was found.
  if (first !== chosen) {
    return essentialSkip(
      `taintkeeper is ${placesOf(found)}. Whether it is in namespace ${chosen.namespace} as well is not known: ${blind}`,
      `taintkeeper doctor --namespace ${first.namespace}`,
    );
  }
  if (others.length > 0) {
    return finding(
      'problem',
      `taintkeeper is installed ${found.length} times: ${placesOf(found)}. All of them write the same webhook configurations, and overwrite what the others wrote. doctor checks the first`,
      'keep one, and delete the Deployment and the Service of the others. Do not use helm uninstall: it would delete the ClusterRole, which they share',
    );
  }
  if (unconfirmed.length > 0) {
    return finding(
      'note',
      `${placeOf(first)}. ${placesOf(unconfirmed)} has the label of taintkeeper as well, which every user who may create a Deployment can set`,
    );
  }
  return finding('ok', placeOf(first));
}

function placesOf(installations: readonly Installation[]): string {
  return installations.map(placeOf).join(' and ');
}

function placeOf({ namespace, service, deployment, helmRelease }: Installation): string {
  const object = deployment ? `Deployment ${namespace}/${deployment.name}` : `Service ${namespace}/${service}`;
  return helmRelease === undefined ? object : `${object} of Helm release ${helmRelease}`;
}
