import type { SourceDocument } from '../../files/documents.ts';
import { valueAt } from '../../kubernetes/json.ts';
import type { Path } from '../../policy/problem.ts';
import { isForControlPlanes } from '../document-conflicts.ts';
import { kindOf } from '../document-values.ts';
import { documentLife } from '../fields.ts';
import { surelyBefore } from '../versions.ts';
import type { LintSubject, Rule, RuleFinding } from './finding.ts';

export const CONTROL_PLANE_DOCUMENT: Rule = {
  id: 'control-plane-document',
  severity: 'refused',
  about:
    'A document that only control planes may have, such as KubeAPIServerConfig, or `cluster.etcd` (since Talos 1.7), in the configuration of a worker: Talos refuses it.',
  check: ({ configuration: { documents }, role, version }: LintSubject) =>
    role !== 'worker'
      ? []
      : documents.flatMap((document) => {
          const kind = kindOf(document);
          if (kind === undefined) return etcdOfWorker(document, version);
          if (typeof kind !== 'string' || !isForControlPlanes(kind)) return [];
          if (surelyBefore(version, documentLife(kind)?.since ?? 0)) return [];
          return [forControlPlanes(document, ['kind'], `documents of kind ${kind}`)];
        }),
};

/** ClusterConfig.Validate of Talos' v1alpha1_validation.go. */
const ETCD_REFUSED_SINCE = 7;

function etcdOfWorker(document: SourceDocument, version: number | undefined): RuleFinding[] {
  const path = ['cluster', 'etcd'];
  if (surelyBefore(version, ETCD_REFUSED_SINCE) || valueAt(document.value, path) == null) return [];
  return [forControlPlanes(document, path, 'cluster.etcd')];
}

function forControlPlanes(document: SourceDocument, path: Path, what: string): RuleFinding {
  return {
    document,
    path,
    reason: `only control planes may have ${what}: Talos refuses the configuration of a worker with it`,
    fix: 'remove it here: it belongs in the configuration of the control-plane nodes',
  };
}
