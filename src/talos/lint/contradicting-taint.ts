import { formatTaint } from '../../policy/taint.ts';
import { type FoundTaint, sameDeclaration } from '../declared-taints.ts';
import { isByKubelet } from '../refused-taints.ts';
import type { Finding, Rule } from './finding.ts';

export const CONTRADICTING_TAINT: Rule = {
  id: 'contradicting-taint',
  about:
    'Two declarations of taints of which one silently wins: Talos leaves a taint alone that has its key and that it did not set (`talos.dev/owned-taints`); the flag `register-with-taints` replaces the list `registerWithTaints`, and the last flag replaces those before it.',
  check: ({ configuration: { taints } }) => [...overruledByKubelet(taints), ...replacedByFlag(taints)],
};

/** Of Talos, where the kubelet registers with another taint of that key. */
function overruledByKubelet(taints: readonly FoundTaint[]): Omit<Finding, 'rule'>[] {
  const byKey = Map.groupBy(taints.filter(isByKubelet), ({ value }) => value.key);
  return taints.flatMap((taint) => {
    if (isByKubelet(taint)) return [];
    const rivals = byKey.get(taint.value.key) ?? [];
    const [rival] = rivals;
    if (!rival || rivals.some((other) => sameDeclaration(other, taint))) return [];
    const { document, path, value } = taint;
    return [
      {
        document,
        path,
        reason: `the kubelet registers with ${formatTaint(rival.value)} (${rival.document.locate(rival.path)}), and Talos leaves a taint of that key alone: ${formatTaint(value)} is never set`,
        fix: 'declare the taint once, or the same in both places',
      },
    ];
  });
}

function replacedByFlag(taints: readonly FoundTaint[]): Omit<Finding, 'rule'>[] {
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

function samePlace(a: FoundTaint, b: FoundTaint): boolean {
  return a.document === b.document && a.path.join('\0') === b.path.join('\0');
}
