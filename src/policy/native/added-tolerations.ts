import { all, choose, type Expression, other, type Variable } from '../cel/expression.ts';
import { SAME_TEMPLATE, TOLERATIONS_BEFORE } from '../cel/template.ts';
import { normalized, TOLERATIONS } from '../cel/tolerations.ts';
import { filteredRuns } from './filtered-runs.ts';
import { takenOut } from './taken-out-tolerations.ts';
import { patchLiterals, type Wanted } from './wanted-tolerations.ts';

const PATH = '/spec/template/spec/tolerations';

/** The tolerations as they are once the request got back what it takes out. */
const PUT_BACK: Variable = {
  name: 'putBack',
  definition: other('tolerations + takenOut', 4, ['tolerations', 'takenOut']),
};

/** True where the DaemonSet then is as it was: nothing else is to start its pods anew. */
const AS_BEFORE: Variable = (() => {
  const after = normalized('putBack');
  return {
    name: 'asBefore',
    definition: all([
      other('sameTemplate', 1, ['sameTemplate']),
      other('size(putBack) == size(before)', 4, ['putBack', 'before']),
      other(`${after.text} == before`, (size) => after.cost(size) + size, ['putBack', 'before']),
    ]),
  };
})();

/** Item by item: what stands there is not written anew. */
const PATCH: Expression = choose(
  other('size(added) == 0 || has(object.spec.template.spec.tolerations)', 6, ['added']),
  other(`added.map(t, JSONPatch{op: "add", path: "${PATH}/-", value: t})`, (size) => 10 + size * 40, ['added']),
  other(`[JSONPatch{op: "add", path: "${PATH}", value: added}]`, 40, ['added']),
);

/** What a DaemonSet gets that is asked for these tolerations: what {@link judgeDaemonSet} adds, as a JSON patch in CEL. */
export function additionsOf(wanted: readonly Wanted[]): { variables: readonly Variable[]; patch: Expression } {
  const further = filteredRuns(wanted, { name: 'further', there: 'putBack', literals: patchLiterals(wanted) });
  const lists = ['takenOut', ...further.lists];
  return {
    variables: [
      TOLERATIONS,
      ...TOLERATIONS_BEFORE,
      ...takenOut(wanted),
      PUT_BACK,
      SAME_TEMPLATE,
      AS_BEFORE,
      ...further.variables,
      {
        name: 'added',
        definition: choose(
          other('asBefore', 1, ['asBefore']),
          other('takenOut', 1, ['takenOut']),
          other(lists.join(' + '), 2 * lists.length, lists),
        ),
      },
    ],
    patch: PATCH,
  };
}
