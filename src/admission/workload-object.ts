import Type from 'typebox';
import type { Path } from '../policy/problem.ts';
import type { Workload, WorkloadKind } from '../policy/role-migration/facts.ts';
import { viewScheduling } from './daemon-set-scheduling.ts';
import { Nullish, StringMap } from './object-meta.ts';
import { reader } from './reader.ts';

const OwnedSchema = Type.Object({
  metadata: Type.Object({
    labels: Nullish(StringMap),
    ownerReferences: Nullish(
      Type.Array(Type.Object({ kind: Type.String(), name: Type.String(), controller: Nullish(Type.Boolean()) })),
    ),
  }),
});
const asOwned = reader(OwnedSchema);

const CronJobSchema = Type.Object({
  metadata: Type.Unknown(),
  spec: Type.Object({ jobTemplate: Type.Object({ spec: Type.Unknown() }) }),
});
const asCronJob = reader(CronJobSchema);

/** The version of each kind that is read. */
export const WORKLOAD_API_VERSIONS: Readonly<Record<WorkloadKind, string>> = {
  DaemonSet: 'apps/v1',
  Deployment: 'apps/v1',
  StatefulSet: 'apps/v1',
  CronJob: 'batch/v1',
};

/** https://kubernetes.io/docs/concepts/overview/working-with-objects/common-labels/ */
const MANAGED_BY = 'app.kubernetes.io/managed-by';

/**
 * What of a workload, taken from parsed JSON, decides where its pods run; `path` is where in its document it stands, and
 * `namespace` stands in while it names none.
 * @throws MalformedObjectError
 */
export function viewWorkload(kind: WorkloadKind, value: unknown, path: Path, namespace = 'default'): Workload {
  const { labels, ownerReferences } = asOwned(value, path).metadata;
  const owner = ownerReferences?.find(({ controller }) => controller);
  return {
    ...viewScheduling(kind === 'CronJob' ? withoutJob(value, path) : value, path, namespace),
    kind,
    managedBy: owner ? `${owner.kind} ${owner.name}` : (labels?.[MANAGED_BY] ?? undefined),
  };
}

/** A CronJob's pod template is two levels further down. */
function withoutJob(value: unknown, path: Path): unknown {
  const { metadata, spec } = asCronJob(value, path);
  return { metadata, spec: spec.jobTemplate.spec };
}
