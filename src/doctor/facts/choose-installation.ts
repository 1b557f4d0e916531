import { OWN_NAMESPACE, OWN_SERVICE } from '../../cluster/installation/own-names.ts';
import { asTheManifests, type Installation } from './installation.ts';

/** What the user said about the installation, by options. */
export interface InstallationChoice {
  readonly namespace?: string | undefined;
}

/** The result of the search for taintkeeper in the cluster. */
export interface Search {
  readonly choice: InstallationChoice;
  /** The confirmed installations. {@link Search.chosen} is the first, or not among them if it was not found. */
  readonly found: readonly Installation[];
  /** What has only the labels of taintkeeper, which every user who may create a Deployment can set. */
  readonly unconfirmed: readonly Installation[];
  /** The installation to check. Undefined if there is none. */
  readonly chosen: Installation | undefined;
  /** Why some installations may not have been found. */
  readonly blind: string | undefined;
}

/** What the cluster shows of taintkeeper. */
export interface InstallationEvidence {
  /** What has the labels of taintkeeper. */
  readonly labelled: readonly Installation[];
  /** The Service that the registered webhooks call. */
  readonly called: { readonly namespace: string; readonly name: string } | undefined;
  /** The namespaces that the webhooks, the ClusterRoleBinding or the pod of doctor name. */
  readonly trusted: readonly string[];
  /** That of the pod in which doctor runs. Undefined outside a pod. */
  readonly ownNamespace: string | undefined;
  /** Why some installations may not have been found. */
  readonly blind: string | undefined;
}

/**
 * Chooses the installation to check. The user or {@link InstallationEvidence.trusted} must name its namespace: the checks print commands for an
 * administrator.
 */
export function chooseInstallation(choice: InstallationChoice, evidence: InstallationEvidence): Search {
  const { labelled, called, trusted, blind } = evidence;
  const isConfirmed = ({ namespace }: Installation) => namespace === choice.namespace || trusted.includes(namespace);
  const found = labelled.filter(isConfirmed);
  const isCalled = ({ namespace, service }: Installation) => namespace === called?.namespace && service === called.name;
  const matching = found.filter(({ namespace }) => namespace === (choice.namespace ?? namespace));
  const chosen = matching.find(isCalled) ?? matching[0] ?? unseenInstallation(choice, evidence, found.length > 0);
  return {
    choice,
    found: found.toSorted((a, b) => Number(b === chosen) - Number(a === chosen)),
    unconfirmed: labelled.filter((one) => !isConfirmed(one)),
    chosen,
    blind,
  };
}

/** The installation to check although it was not found: what webhooks call, or what the user named and may not list. */
function unseenInstallation(
  { namespace }: InstallationChoice,
  { called, ownNamespace, blind }: InstallationEvidence,
  hasFound: boolean,
): Installation | undefined {
  const isHere = namespace === undefined || namespace === called?.namespace;
  if (called && isHere && !hasFound) return asTheManifests({ namespace: called.namespace, service: called.name });
  if (blind === undefined) return undefined;
  return asTheManifests({ namespace: namespace ?? ownNamespace ?? OWN_NAMESPACE, service: OWN_SERVICE });
}
