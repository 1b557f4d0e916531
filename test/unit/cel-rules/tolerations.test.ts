import { describe, expect, it } from 'vitest';
import type { Expression } from '../../../src/cel/expression.ts';
import { normalized, normalizedLiteral } from '../../../src/cel-rules/template-changes.ts';
import {
  ENDS_TOO_EARLY,
  notTolerated,
  rangeLiteral,
  secondsLiteral,
  TOLERATIONS,
} from '../../../src/cel-rules/tolerations.ts';
import { cutShortBy } from '../../../src/judge/request/needed-tolerations.ts';
import { covers, rangesOf } from '../../../src/kubernetes/taint-range.ts';
import { equalToleration, type Toleration } from '../../../src/kubernetes/toleration.ts';
import { parseCel } from './evaluate.ts';

// Each way to write each field, an absent one included.
const KEYS = [undefined, '', 'dedicated', 'node.kubernetes.io/unreachable'];
const VALUES = [undefined, '', 'gpu'];
const EFFECTS = [undefined, '', 'NoSchedule', 'NoExecute'];
const SECONDS = [undefined, -1, 0, 300];

/** All combinations that an API server accepts. */
const TOLERATIONS_TO_TRY: Toleration[] = KEYS.flatMap((key) =>
  EFFECTS.flatMap((effect) =>
    SECONDS.flatMap((tolerationSeconds) => [
      { key, operator: 'Exists', effect, tolerationSeconds },
      ...[undefined, 'Equal'].flatMap((operator) =>
        VALUES.map((value) => ({ key, operator, value, effect, tolerationSeconds })),
      ),
    ]),
  ),
)
  .filter(({ key, operator }) => key || operator === 'Exists')
  .filter(({ effect, tolerationSeconds }) => tolerationSeconds === undefined || effect === 'NoExecute')
  .map((toleration): Toleration => JSON.parse(JSON.stringify(toleration)));

const literal = (text: string) => parseCel(text)({});

/** A condition on the item `required`, which it takes from a list, as in a match condition. */
const withRequired = (item: string, { text }: Expression) => parseCel(`[${item}].exists(required, ${text})`);

describe('notTolerated is true where no toleration covers a range', () => {
  it.each<{ type: string; parse: (item: string) => ReturnType<typeof parseCel> }>([
    { type: 'text', parse: (item) => withRequired(item, notTolerated({ dynamic: false })) },
    {
      type: 'a dynamic one',
      parse: (item) => {
        const condition = parseCel(notTolerated({ dynamic: true }).text);
        const required = literal(item);
        return (variables) => condition({ ...variables, required });
      },
    },
  ])('whose fields have the type $type', ({ parse }) => {
    for (const range of TOLERATIONS_TO_TRY.flatMap(rangesOf)) {
      const condition = parse(rangeLiteral(range));
      for (const toleration of TOLERATIONS_TO_TRY) {
        const message = JSON.stringify({ range, toleration });
        expect(condition({ tolerations: [toleration] }), message).toBe(!covers(toleration, range));
      }
    }
  });
});

it('ENDS_TOO_EARLY is true where the first toleration that matters is for too short a time', () => {
  for (const required of TOLERATIONS_TO_TRY) {
    for (const range of rangesOf(required)) {
      const item = secondsLiteral(range, required);
      const condition = item === undefined ? () => false : withRequired(item, ENDS_TOO_EARLY);
      for (const toleration of TOLERATIONS_TO_TRY) {
        const need = { required: { toleration: required, rank: 0 }, ranges: [range] };
        for (const tolerations of [[toleration], [required, toleration]]) {
          const found = condition({ tolerations });
          const message = JSON.stringify({ required, range, tolerations });
          expect(found, message).toBe(cutShortBy(tolerations, need) !== undefined);
        }
      }
    }
  }
});

it('normalized tolerations are equal where tolerations mean the same', () => {
  const written = parseCel(normalized(TOLERATIONS).text)({ tolerations: TOLERATIONS_TO_TRY });
  expect(written).toEqual(TOLERATIONS_TO_TRY.map((toleration) => literal(normalizedLiteral(toleration))));
  const texts = (written as object[]).map((one) => JSON.stringify(one));
  TOLERATIONS_TO_TRY.forEach((one, index) => {
    expect(texts.map((text) => text === texts[index])).toEqual(
      TOLERATIONS_TO_TRY.map((other) => equalToleration(one, other)),
    );
  });
});
