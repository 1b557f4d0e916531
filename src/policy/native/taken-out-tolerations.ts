import { all, choose, indented, LIST_COST, other, type Variable } from '../cel/expression.ts';
import { lacks, normalizedLiteral } from '../cel/tolerations.ts';
import { someAnyEffect, tangledWith, type Wanted, wantedList } from './wanted-tolerations.ts';

/**
 * `takenOut`: the wanted tolerations that an update takes out of a DaemonSet, in its order and as they stood there. Those
 * that the rest covers need not come back.
 */
export function takenOut(wanted: readonly Wanted[]): Variable[] {
  const list = wantedList(wanted, ({ toleration }) => normalizedLiteral(toleration));
  const tangled = tangledBack(wanted);
  const uncovered = lacks('tolerations', { anyEffect: someAnyEffect(wanted) });
  const condition = all([
    other('want in wanted', 5, ['wanted']),
    other('before.indexOf(want) == i', 5, ['before']),
    tangled ? choose(tangled.isTangled, tangled.isBack, uncovered) : uncovered,
  ]);
  return [
    { name: 'wanted', definition: list },
    ...(tangled?.variables ?? []),
    {
      name: 'takenOut',
      definition: other(
        `before.transformList(i, want,\n  ${indented(condition.text)},\n  ran[i])`,
        (size) => size * (size + wanted.length + 20) + Math.min(size, wanted.length) * condition.cost(size),
        ['ran', 'before', ...condition.uses],
      ),
    },
  ];
}

/**
 * Of tolerations that may cover one another, what comes back first decides about the rest: they come back one by one, always the
 * first one that is not covered yet.
 */
function tangledBack(wanted: readonly Wanted[]) {
  const tangled = tangledWith(wanted);
  if (tangled.length === 0) return undefined;
  const rounds = new Set(tangled.map(({ toleration }) => normalizedLiteral(toleration))).size;
  const list = wantedList(tangled, ({ toleration }) => normalizedLiteral(toleration));
  const options = { anyEffect: someAnyEffect(tangled), more: rounds };
  const there = (round: number) => (round === 0 ? 'tolerations' : `back${round}`);
  const variables = Array.from({ length: rounds }, (_, index): Variable[] => {
    const left = `left${index + 1}`;
    const condition = lacks(there(index), options);
    return [
      {
        name: left,
        definition: other(`tangledBefore.filter(want, ${condition.text})`, (size) => rounds * condition.cost(size), [
          'tangledBefore',
          ...condition.uses,
        ]),
      },
      {
        name: there(index + 1),
        definition: other(`${there(index)} + (size(${left}) > 0 ? [${left}[0]] : [])`, LIST_COST + 10, [
          there(index),
          left,
        ]),
      },
    ];
  });
  return {
    variables: [
      { name: 'tangled', definition: list },
      {
        name: 'tangledBefore',
        definition: other(
          'before.transformList(i, want, want in tangled && before.indexOf(want) == i, want)',
          (size) => size * (size + rounds + 20),
          ['before', 'tangled'],
        ),
      },
      ...variables.flat(),
    ],
    isTangled: other('want in tangled', 5, ['tangled']),
    isBack: other(`want in ${there(rounds)}`, (size) => size + rounds, [there(rounds)]),
  };
}
