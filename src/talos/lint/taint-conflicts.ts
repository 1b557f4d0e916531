import { formatTaint, sameTaint } from '../../kubernetes/taint.ts';
import { type FileTaint, sameDeclaration } from '../file-taints.ts';
import { isByKubelet } from '../refused-taints.ts';
import type { Rule, RuleFinding } from './finding.ts';

export const CONTRADICTING_TAINT: Rule = {
  id: 'contradicting-taint',
  severity: 'no-effect',
  about:
    'Two declarations of taints of which one silently wins: Talos leaves a taint alone that has its key and that it did not set (`talos.dev/owned-taints`); the flag `register-with-taints` replaces the list `registerWithTaints`, and the last flag replaces those before it.',
  check: ({ configuration: { taints } }) => [...overruledByKubelet(taints), ...replacedByFlag(taints)],
};

export const DUPLICATE_TAINT: Rule = {
  id: 'duplicate-taint',
  severity: 'refused',
  about:
    'Two taints with one key and effect in `registerWithTaints` or in `register-with-taints`: a node has only one of these, so the API server refuses the node, or the kubelet the flag.',
  check({ configuration: { taints } }) {
    const lists = Map.groupBy(taints.filter(isByKubelet), ({ document, path, shape }) =>
      [document.locate([]), shape, ...(shape === 'registerWithTaints' ? path.slice(0, -1) : path)].join('\0'),
    );
    // A flag takes the place of the list.
    const hasFlag = taints.some(({ shape }) => shape === 'register-with-taints');
    return [...lists.values()].flatMap((list) =>
      list.flatMap((taint, index): RuleFinding[] => {
        const first = list.slice(0, index).find((other) => sameTaint(other.value, taint.value));
        const byFlag = taint.shape === 'register-with-taints';
        if (!first || (hasFlag && !byFlag)) return [];
        const { document, path, value } = taint;
        const both = `${formatTaint(first.value)} and ${formatTaint(value)} have one key and effect`;
        const where = byFlag ? '' : ` (the first: ${first.document.locate(first.path)})`;
        return [
          {
            document,
            path,
            reason: `${both}${where}: ${byFlag ? 'the kubelet does not start' : 'the node cannot register'}`,
            fix: 'keep one of the two',
          },
        ];
      }),
    );
  },
};

/** Talos' taint, if the kubelet registers with another taint of that key. */
function overruledByKubelet(taints: readonly FileTaint[]): RuleFinding[] {
  const byKey = Map.groupBy(taints.filter(isByKubelet), ({ value }) => value.key);
  return taints.flatMap((taint) => {
    if (isByKubelet(taint)) return [];
    const conflictingTaints = byKey.get(taint.value.key) ?? [];
    const [conflicting] = conflictingTaints;
    if (!conflicting || conflictingTaints.some((other) => sameDeclaration(other, taint))) return [];
    const { document, path, value } = taint;
    return [
      {
        document,
        path,
        reason: `the kubelet registers with ${formatTaint(conflicting.value)} (${conflicting.document.locate(conflicting.path)}), and Talos leaves a taint of that key alone: ${formatTaint(value)} is never set`,
        fix: 'declare the taint once, or the same in both places',
      },
    ];
  });
}

function replacedByFlag(taints: readonly FileTaint[]): RuleFinding[] {
  const flags = taints.filter(({ shape }) => shape === 'register-with-taints');
  const last = flags.at(-1);
  if (!last) return [];
  const inForce = Map.groupBy(
    flags.filter((flag) => samePlace(flag, last)),
    ({ value }) => value.key,
  );
  const replaced = taints.filter(
    (taint) =>
      (taint.shape === 'registerWithTaints' || (taint.shape === last.shape && !samePlace(taint, last))) &&
      !inForce.get(taint.value.key)?.some((flag) => sameDeclaration(flag, taint)),
  );
  return replaced.map(({ document, path, value }) => ({
    document,
    path,
    reason: `the kubelet takes register-with-taints (${last.document.locate(last.path)}) in place of this: ${formatTaint(value)} is not set`,
    fix: 'declare all taints in one place, best in registerWithTaints: the flag is deprecated',
  }));
}

function samePlace(a: FileTaint, b: FileTaint): boolean {
  return a.document === b.document && a.path.join('\0') === b.path.join('\0');
}
