import fc from 'fast-check';
import { expect, it } from 'vitest';
import { createFairMap } from '../../../../src/collections/fair-map.ts';
import type { PageDecision } from '../../../../src/page/state.ts';
import { mostOf } from '../../../../src/page/static/fair-list.js';

const decision = (id: number, origin: string, user: string) =>
  ({ id: String(id), time: new Date(id * 1_000).toISOString(), origin, user }) as PageDecision;

it('what a browser keeps of decisions that come one by one is what the program keeps', () => {
  const source = fc.record({ origin: fc.constantFrom('a', 'b', 'c'), user: fc.constantFrom('1', '2') });
  fc.assert(
    fc.property(fc.array(source, { maxLength: 40 }), (sources) => {
      const map = createFairMap<PageDecision>(6);
      let kept: PageDecision[] = [];
      for (const [index, { origin, user }] of sources.entries()) {
        const one = decision(index, origin, user);
        map.set(one.id, one, { origin, part: user });
        kept = mostOf([...kept, one], 6);
      }
      expect(kept.map(({ id }) => id)).toEqual(map.values().map(({ id }) => id));
    }),
  );
});

it('a flood from one address leaves the decisions of others', () => {
  const real = decision(0, '10.0.0.1', 'dev');
  const forged = Array.from({ length: 1_000 }, (_, index) => decision(index + 1, '10.0.0.66', `user-${index}`));
  expect(mostOf([real, ...forged], 200)).toEqual([real, ...forged.slice(-199)]);
});
