import { REMEMBERED_ANNOTATION } from '../judge/memory.ts';
import { RELEASE_ANNOTATION } from '../judge/release.ts';
import { isPattern, matchesPattern, overlap } from '../kubernetes/pattern.ts';
import { isTransientTaintKey } from '../kubernetes/transient-taints.ts';
import type { TaintPolicy } from '../policy/policy.ts';
import { type TaintRule, waitsToSettle } from '../policy/taint-policy.ts';
import type { NativeLimit, TranslationOptions } from './native-policy.ts';
import { MAX_RELEASES } from './node-subject.ts';

/** True unless no taint can be meant by a rule of both lists. */
export function rulesOverlap(some: readonly TaintRule[], others: readonly TaintRule[]): boolean {
  return some.some((a) =>
    others.some(
      (b) =>
        mayBeEqual(a.effect, b.effect) &&
        mayBeEqual(a.value, b.value) &&
        overlap(a.key, b.key) &&
        !isBeyondPattern(a, b) &&
        !isBeyondPattern(b, a),
    ),
  );
}

function mayBeEqual(a: string | undefined, b: string | undefined): boolean {
  return a === undefined || b === undefined || a === b;
}

/** A key that comes and goes is meant only by its name, and one that is excepted, not at all. */
function isBeyondPattern({ key }: TaintRule, { key: pattern, except = [] }: TaintRule): boolean {
  const isExcepted = () => except.some((one) => matchesPattern(one, key));
  return isPattern(pattern) && !isPattern(key) && (isTransientTaintKey(key) || isExcepted());
}

/** What a TaintPolicy says, or the program does for it, and the API server does not. */
export function nodeLimits({ spec }: TaintPolicy, { mutates, purpose }: TranslationOptions): NativeLimit[] {
  const audit = spec.mode === 'Audit';
  const releasable = !audit && spec.release !== 'Never';
  const exempts = (spec.exempt?.users?.length ?? 0) + (spec.exempt?.groups?.length ?? 0) > 0;
  const present = spec.taints.some(({ ensure }) => ensure === 'Present');
  const waits = spec.taints.some((rule) => waitsToSettle(rule, spec, spec.mode));
  const limits: (NativeLimit | false)[] = [
    spec.mode === 'Restore' &&
      !mutates && {
        field: 'spec.mode',
        message: 'without MutatingAdmissionPolicy nothing is put back: an update that drops a taint is refused',
      },
    spec.mode === 'Restore' &&
      mutates &&
      purpose === 'Alone' && {
        field: 'spec.mode',
        message: 'taints are put back without a word to whoever dropped them: no warning, no Event, no metric',
      },
    !audit && {
      field: 'spec.taints',
      message: `what a node carries is not remembered in ${REMEMBERED_ANNOTATION}, only forgotten there when it goes with leave: nothing can be put back later`,
    },
    waits &&
      purpose === 'Alone' && {
        field: 'spec.settleSeconds',
        message: `a key with "*" protects what ${REMEMBERED_ANNOTATION} lists, which nobody writes without taintkeeper in the cluster: nothing, unless settleSeconds is 0`,
      },
    present &&
      !audit &&
      !mutates && {
        field: 'spec.taints',
        message:
          'without MutatingAdmissionPolicy a node that registers gets no Present taint: that it lacks one is reported',
      },
    present &&
      spec.mode === 'Restore' && {
        field: 'spec.taints',
        message: 'a node that runs gets no Present taint that it lacks: only one that registers does',
      },
    releasable &&
      !mutates && {
        field: 'spec.release',
        message: `without MutatingAdmissionPolicy the request that removes the taint must take its entry out of ${RELEASE_ANNOTATION} itself`,
      },
    releasable && {
      field: 'spec.release',
      message: `of ${RELEASE_ANNOTATION}, the first ${MAX_RELEASES} entries are looked at, and its announcement is not recorded`,
    },
    spec.nodeSelector !== undefined && {
      field: 'spec.nodeSelector',
      message: 'that a node leaves the policy by its labels, with the taint still on it, is not recorded',
    },
    exempts && {
      field: 'spec.exempt',
      message:
        'no pattern exempts a user whose name has more than 256 characters, and no group one who is in more than 64',
    },
  ];
  return limits.filter((limit) => limit !== false);
}
