import type { Operation } from '../kubernetes/json-patch.ts';
import { formatTaint, sameTaint, type Taint, withTaints } from '../kubernetes/taint.ts';
import { shellWord } from '../text/printable.ts';
import { AUTOSCALER_STARTUP_PREFIX, CAPACITY_TAINTS_ANNOTATION, type NodePool, type PoolList } from './node-pool.ts';
import type { UndeclaredTaint } from './undeclared-taints.ts';

type Misplaced = Pick<UndeclaredTaint, 'taint' | 'list'>;

/**
 * The command that declares the taints in the pool, and its effect. For a pool that cannot be changed, what to do instead. Karpenter replaces the nodes
 * of a NodePool whose template has changed. The annotation of other pools changes no machine.
 */
export function howToDeclare(pool: NodePool, undeclared: readonly Misplaced[]): string {
  const { kind, namespace, name } = pool;
  if (pool.isBuiltIn) {
    return `EKS Auto Mode does not let you change its built-in NodePools: create one of your own that declares it, and disable ${name}`;
  }
  const bare = (list: PoolList) =>
    undeclared
      .filter((one) => one.list === list)
      .map(({ taint: { key, value, effect } }) => ({ key, ...(value ? { value } : {}), effect }));
  const [staying, removed] = [bare('taints'), bare('startupTaints')];
  if (kind === 'NodePool') {
    const patch = JSON.stringify(patchOf(pool, staying, removed));
    return `to declare it, upon which Karpenter replaces the nodes of the pool within its disruption budgets: kubectl patch nodepools.karpenter.sh ${shellWord(name)} --type=json -p ${shellWord(patch)}`;
  }
  const renamed = removed.map(
    ({ key }) =>
      `in the policy, name the key ${AUTOSCALER_STARTUP_PREFIX}${key.slice(key.lastIndexOf('/') + 1)} in place of ${key}`,
  );
  if (staying.length === 0) return renamed.join('; ');
  const annotation = withTaints(pool.taints ?? [], staying)
    .map(formatTaint)
    .join(',');
  const object = `${kind.toLowerCase()}.cluster.x-k8s.io ${shellWord(name)} --namespace ${shellWord(namespace ?? '')}`;
  const assignment = shellWord(`${CAPACITY_TAINTS_ANNOTATION}=${annotation}`);
  const command = `to declare it: kubectl annotate --overwrite ${object} ${assignment}`;
  return [...renamed, command].join('; ');
}

/**
 * A JSON patch (RFC 6902). It tests each value that it creates, replaces or removes, because another writer may have changed the list. Without a
 * list, a test for null succeeds at the API server. With one, also an empty one, it fails.
 */
function patchOf(pool: NodePool, staying: readonly Taint[], removed: readonly Taint[]): Operation[] {
  return [
    ...additions('taints', pool.taints, staying),
    ...additions('startupTaints', pool.startupTaints, removed),
    ...removals('startupTaints', pool.startupTaints, staying),
    ...removals('taints', pool.taints, removed),
  ];
}

const TEMPLATE = '/spec/template/spec';

function additions(list: PoolList, declared: readonly Taint[] | undefined, taints: readonly Taint[]): Operation[] {
  if (taints.length === 0) return [];
  const path = `${TEMPLATE}/${list}`;
  const changed = withTaints(declared ?? [], taints);
  if (declared === undefined) {
    return [
      { op: 'test', path, value: null },
      { op: 'add', path, value: changed },
    ];
  }
  return changed.flatMap((taint, index) => changeAt(path, declared[index], taint, index));
}

function removals(list: PoolList, declared: readonly Taint[] = [], taints: readonly Taint[]): Operation[] {
  const wrong = declared.flatMap((taint, index) => (taints.some((one) => sameTaint(one, taint)) ? [index] : []));
  // From the end, so that the other indexes stay valid.
  return wrong.toReversed().flatMap((index) => [
    { op: 'test', path: `${TEMPLATE}/${list}/${index}/key`, value: declared[index]?.key },
    { op: 'remove', path: `${TEMPLATE}/${list}/${index}` },
  ]);
}

function changeAt(path: string, before: Taint | undefined, after: Taint, index: number): Operation[] {
  if (before === undefined) return [{ op: 'add', path: `${path}/-`, value: after }];
  if (before === after) return [];
  return [
    { op: 'test', path: `${path}/${index}/key`, value: after.key },
    { op: 'replace', path: `${path}/${index}`, value: after },
  ];
}
