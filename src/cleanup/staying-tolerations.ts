import { ownValue, type StringMap } from '../kubernetes/label-selector.ts';
import { formatToleration, TOLERATIONS_PATH, type Toleration } from '../kubernetes/toleration.ts';
import { describeOwner, FIELD_MANAGER, fieldOwner, lastWriter, type ManagedFields } from '../objects/managed-fields.ts';

/** Added tolerations that are not removed, because the source of the DaemonSet has them by now, or may have them. */
export interface StayingTolerations {
  readonly indexes: readonly number[];
  /** In words, about the DaemonSet. */
  readonly because: string;
}

/** The manifest that `kubectl apply` without `--server-side` applied last. */
const LAST_APPLIED_ANNOTATION = 'kubectl.kubernetes.io/last-applied-configuration';

/** Field managers of kubectl, except the one of `kubectl replace`, after which the DaemonSet does not show what the manifest has. */
const KUBECTL = /^kubectl(?!-replace)/;

/**
 * Which added tolerations stay. Without a toleration that the source declares, the pods leave nodes, so one is removed only if the source certainly
 * does not have it. The owner of the list does not prove that: only server-side apply gets to own a list that it does not change, and most tools write
 * nothing if the list already is as their source has it.
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
  const others = managedFields.filter(({ manager = '' }) => !KUBECTL.test(manager));
  const writer = fieldOwner(others, ['spec', 'template']);
  if (writer) return all(`${describeOwner(writer)} writes it, and its source may have the toleration`);
  const applied = lastApplied(annotations);
  if (!applied) return all('the manifest that kubectl apply applied last cannot be read');
  const indexes = added.filter((index) => applied.has(formatToleration(tolerations[index] ?? {})));
  return indexes.length === 0 ? undefined : { indexes, because: 'the manifest that kubectl apply applied last has it' };
}

/** The tolerations of the last applied manifest. None if there is no such manifest. Undefined if it cannot be read. */
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
