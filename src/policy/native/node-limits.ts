import { REMEMBERED_ANNOTATION } from '../memory.ts';
import type { TaintPolicy } from '../policy.ts';
import { RELEASE_ANNOTATION } from '../release.ts';
import { waitsToSettle } from '../settle-seconds.ts';
import type { NativeLimit } from './native-objects.ts';
import { MAX_RELEASES } from './node-subject.ts';
import type { TranslationOptions } from './translate.ts';

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
