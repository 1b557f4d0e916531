import { type LabelSelector, type StringMap, selects } from '../kubernetes/label-selector.ts';
import { formatRequirement, requirementsOf } from '../kubernetes/selector-overlap.ts';

/** The requirements of a selector that the labels do not meet, such as `pool=gpu`. */
export function unmetRequirements(selector: LabelSelector | undefined, labels: StringMap): string[] {
  return requirementsOf(selector)
    .filter((requirement) => !selects({ matchExpressions: [requirement] }, labels))
    .map(formatRequirement);
}
