import { type Expression, exists, LIST_COST, listOf, literal, other, type Variable } from '../cel/expression.ts';
import { NOT_TOLERATED, TOLERATIONS, taintLiteralsMeantBy } from '../cel/tolerations.ts';
import type { TolerationPolicy } from '../policy.ts';
import { formatToleration } from '../toleration.ts';
import { DEFAULT_TOLERATIONS } from '../toleration-policy.ts';
import { filteredRuns } from './filtered-runs.ts';
import { type Literals, mayCover, type Wanted } from './wanted-tolerations.ts';

/** A messageExpression may come to 5 KiB, and a key has up to 317 characters. */
const SHOWN = 8;
const TEXT_LENGTH = 400;

/** True when the DaemonSet does not tolerate a taint that the policy means. */
export function lacksAny({ spec }: TolerationPolicy): Expression {
  const items = [...new Set((spec.tolerations ?? DEFAULT_TOLERATIONS).flatMap(taintLiteralsMeantBy))];
  return exists({ text: listOf(items), size: items.length, cost: LIST_COST, uses: [] }, 'want', NOT_TOLERATED);
}

/**
 * What a ValidatingAdmissionPolicy says of a DaemonSet that lacks tolerations which the policy asks for. Nothing where other
 * policies ask for all of them, and have reported that.
 */
export function lackedOf(policy: TolerationPolicy, wanted: readonly Wanted[], mutates: boolean) {
  const { name, spec } = policy;
  const first = wanted.findIndex((want) => want.policy === name);
  if (first === -1) return undefined;
  const own = wanted.filter((want) => want.policy === name);
  const earlier = wanted.slice(0, first);
  const covers = earlier.some((one) => own.some((want) => mayCover(one.toleration, want.toleration)));
  const before = filteredRuns(covers ? earlier : [], { name: 'others', there: 'tolerations', literals: DESCRIBED });
  const runs = filteredRuns(own, { name: 'lacking', there: before.there, literals: DESCRIBED });
  const together: Variable = { name: 'lacking', definition: other(runs.lists.join(' + '), LIST_COST, runs.lists) };
  const shown = shownOf(own.length);
  const mode = spec.mode === 'Audit' ? ', Audit' : '';
  const then = spec.mode === 'Mutate' && mutates ? '; added with the next change of the pod template' : '';
  const key = spec.mode === 'Audit' ? 'audited' : 'missing';
  return {
    variables: [
      TOLERATIONS,
      ...before.variables,
      ...runs.variables,
      ...(runs.lists.length > 1 ? [together] : []),
    ] satisfies Variable[],
    validation: {
      holds: other('size(lacking) == 0', 2, ['lacking']),
      message: other(
        `${literal(`TolerationPolicy ${name}${mode}: missing tolerations: `)} + ${shown.text}${then ? ` + ${literal(then)}` : ''}`,
        shown.cost,
        shown.uses,
      ),
    },
    auditAnnotations: {
      [key]: other(`size(lacking) == 0 ? "" : ${literal(`${name}: `)} + ${shown.text}`, shown.cost, shown.uses),
    },
  };
}

function shownOf(count: number): Expression {
  const cost = count * (TEXT_LENGTH / 10 + 10 + count);
  if (count <= SHOWN) return other('lacking.map(want, want.text).join(", ")', cost, ['lacking']);
  const first = `lacking.filter(want, lacking.indexOf(want) < ${SHOWN}).map(want, want.text).join(", ")`;
  const more = `(size(lacking) > ${SHOWN} ? " and " + string(size(lacking) - ${SHOWN}) + " more" : "")`;
  return other(`${first} + ${more}`, cost, ['lacking']);
}

const DESCRIBED: Literals = { write: described, dynamic: false };

function described({ toleration }: Wanted): string {
  const { key, operator, value, effect } = toleration;
  const fields = { key, operator, value, effect, text: formatToleration(toleration) };
  return `{${Object.entries(fields)
    .map(([field, text]) => `"${field}": ${literal(text ?? '')}`)
    .join(', ')}}`;
}
