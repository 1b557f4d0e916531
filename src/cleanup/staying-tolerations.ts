import { ownValue, type StringMap } from '../kubernetes/label-selector.ts';
import { formatToleration, TOLERATIONS_PATH, type Toleration } from '../kubernetes/toleration.ts';
import { describeOwner, FIELD_MANAGER, fieldOwner, lastWriter, type ManagedFields } from '../objects/managed-fields.ts';

/** Added tolerations that are not removed, because the source of the DaemonSet has them by now, or may have them. */
export interface StayingTolerations {
  readonly indexes: readonly number[];
  /** In words, about the DaemonSet. */
  readonly because: string;
}

const TEMPLATE_PATH = ['spec', 'template'];

/** The manifest that `kubectl apply` without `--server-side` applied last. */
const LAST_APPLIED_ANNOTATION = 'kubectl.kubernetes.io/last-applied-configuration';

/** The field manager of `kubectl apply --server-side`. */
const SERVER_SIDE_APPLY = 'kubectl';

/**
 * The field managers of the commands of kubectl that write a DaemonSet (k8s.io/kubectl/pkg/cmd), except the one of `kubectl replace`: after it, an
 * annotation of an earlier `kubectl apply` may be out of date.
 */
const KUBECTL: ReadonlySet<string> = new Set([
  SERVER_SIDE_APPLY,
  'kubectl-annotate',
  'kubectl-client-side-apply',
  'kubectl-create',
  'kubectl-edit',
  'kubectl-label',
  'kubectl-last-applied',
  'kubectl-patch',
  'kubectl-rollout',
  'kubectl-set',
]);

/**
 * Which added tolerations stay. Without a toleration that the source declares, the pods leave nodes, so one is removed only if the source certainly
 * does not have it. The owner of the list does not prove that: only server-side apply gets to own a list that it does not change, and all other tools,
 * `kubectl patch` too, leave no trace if the list already is as their source has it. So only a manifest that `kubectl apply` applied is a known source.
 *
 * @param added the indexes of the added tolerations
 */
export function stayingTolerations(
  added: readonly number[],
  tolerations: readonly Toleration[],
  annotations: StringMap,
  managedFields: readonly ManagedFields[],
): StayingTolerations | undefined {
  if (added.length === 0) return undefined;
  const all = (because: string) => ({ indexes: added, because });
  const owner = fieldOwner(managedFields, TOLERATIONS_PATH);
  if (owner) return all(`its list of tolerations was written since by ${describeOwner(owner)}`);
  const own = managedFields.filter(({ manager }) => manager === FIELD_MANAGER);
  if (!lastWriter(own, TOLERATIONS_PATH)) return all('taintkeeper does not own its list of tolerations any more');
  const others = managedFields.filter(({ manager = '' }) => !KUBECTL.has(manager));
  const writer = fieldOwner(others, TEMPLATE_PATH);
  if (writer) return all(`${describeOwner(writer)} writes it, and its source may have the toleration`);
  const isAppliedByServer = managedFields.some(
    (entry) => entry.manager === SERVER_SIDE_APPLY && entry.operation === 'Apply' && fieldOwner([entry], TEMPLATE_PATH),
  );
  if (!isAppliedByServer && ownValue(annotations, LAST_APPLIED_ANNOTATION) === undefined)
    return all('kubectl apply has not applied it, so its manifest is not known');
  const applied = lastApplied(annotations);
  if (!applied) return all('the manifest that kubectl apply applied last cannot be read');
  const indexes = added.filter((index) => applied.has(formatToleration(tolerations[index] ?? {})));
  return indexes.length === 0 ? undefined : { indexes, because: 'the manifest that kubectl apply applied last has it' };
}

/** The tolerations of the last applied manifest. None if there is no such manifest: server-side apply owns a list that it applied. Undefined if it cannot be read. */
function lastApplied(annotations: StringMap): ReadonlySet<string> | undefined {
  const text = ownValue(annotations, LAST_APPLIED_ANNOTATION);
  if (text === undefined) return new Set();
  try {
    const manifest: { spec: { template: { spec: { tolerations?: readonly Toleration[] | null } } } } = JSON.parse(text);
    return new Set((manifest.spec.template.spec.tolerations ?? []).map(formatToleration));
  } catch {
    return undefined;
  }
}
