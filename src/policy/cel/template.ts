import { all, other, type Variable } from './expression.ts';
import { normalized } from './tolerations.ts';

/** Fields of a template and of a pod's spec that may be set. */
const FIELDS = 80;

/** The tolerations of a DaemonSet before an update: as they stand there, and spelled out. None before a creation. */
export const TOLERATIONS_BEFORE: readonly Variable[] = [
  {
    name: 'ran',
    definition: other(
      `request.operation == "UPDATE" && has(oldObject.spec.template.spec.tolerations)
? oldObject.spec.template.spec.tolerations
: []`,
      30,
    ),
  },
  { name: 'before', definition: normalized('ran') },
];

/** True for an update that leaves the pod template as it was, its tolerations not considered. */
export const SAME_TEMPLATE: Variable = {
  name: 'sameTemplate',
  definition: all([
    other('request.operation == "UPDATE"', 5),
    ...sameFields('spec.template', 'spec'),
    ...sameFields('spec.template.spec', 'tolerations'),
  ]),
};

function sameFields(part: string, apart: string) {
  const [before, after] = [`oldObject.${part}`, `object.${part}`];
  return [
    other(`${after}.all(f, f == "${apart}" || (f in ${before} && ${after}[f] == ${before}[f]))`, FIELDS * 30),
    other(`${before}.all(f, f == "${apart}" || f in ${after})`, FIELDS * 15),
  ];
}
