import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { createFairMap } from '../../../src/collections/fair-map.ts';

const from = (origin: string, part = '') => ({ origin, part });

describe('a full map evicts', () => {
  it('the oldest entry where there is one source', () => {
    const map = createFairMap<string>(3);
    const evicted = ['a', 'b', 'c', 'd', 'e'].map((key) => map.set(key, key, from('1')));
    expect(evicted).toEqual([undefined, undefined, undefined, 'a', 'b']);
    expect(map.values()).toEqual(['c', 'd', 'e']);
  });

  it('what was touched last of all only after all others', () => {
    const map = createFairMap<string>(2);
    for (const key of ['a', 'b']) map.set(key, key, from('1'));
    expect(map.touch('a')).toBe(true);
    expect(map.touch('unknown')).toBe(false);
    expect(map.set('c', 'c', from('1'))).toBe('b');
    expect(map.set('d', 'd', from('1'))).toBe('a');
  });

  it('the oldest entry of the noisiest origin, whatever it says of itself', () => {
    const map = createFairMap<string>(10);
    map.set('real', 'real', from('api-server', 'n1'));
    for (let n = 0; n < 5_000; n++) map.set(`forged-${n}`, `forged-${n}`, from('pod', `object-${n}`));
    expect(map.values()).toEqual(['real', ...Array.from({ length: 9 }, (_, n) => `forged-${4_991 + n}`)]);
  });

  it('within an origin, the oldest entry of the noisiest part', () => {
    const map = createFairMap<string>(3);
    map.set('quiet', 'quiet', from('1', 'n1'));
    for (const key of ['a', 'b', 'c']) map.set(key, key, from('1', 'n2'));
    expect(map.values()).toEqual(['quiet', 'b', 'c']);
  });

  it('among sources that are equally noisy, the oldest entry', () => {
    const map = createFairMap<string>(2);
    for (const key of ['a', 'b', 'c']) map.set(key, key, from(key));
    expect(map.values()).toEqual(['b', 'c']);
  });
});

it('an entry that a noisy source sets, too, still counts for the quiet one', () => {
  const map = createFairMap<string>(3);
  map.set('shared', 'forged', from('pod'));
  map.set('x', 'x', from('pod'));
  map.set('shared', 'real', from('api-server'));
  map.set('shared', 'again', from('pod'));
  for (const key of ['a', 'b', 'c']) map.set(key, key, from('pod'));
  expect(map.values()).toEqual(['again', 'b', 'c']);
});

it('whatever comes, it is bounded, and no origin with no more than its share loses an entry', () => {
  const capacity = 12;
  const step = fc.record({
    key: fc.nat(40),
    origin: fc.constantFrom('a', 'b', 'c'),
    part: fc.constantFrom('1', '2'),
    deleted: fc.boolean(),
  });
  fc.assert(
    fc.property(fc.array(step, { maxLength: 200 }), (steps) => {
      const map = createFairMap<string>(capacity);
      for (const { key, origin, part, deleted } of steps) {
        const name = `${origin}${key}`;
        const before = Map.groupBy(map.values(), (value) => value.charAt(0));
        if (deleted) {
          const isThere = map.get(name) !== undefined;
          expect(map.delete(name)).toBe(isThere);
          expect(map.get(name)).toBeUndefined();
          continue;
        }
        const evicted = map.set(name, name, { origin, part });
        expect(map.size).toBeLessThanOrEqual(capacity);
        expect(map.values()).toHaveLength(map.size);
        if (evicted === undefined) continue;
        const owned = (before.get(evicted.charAt(0))?.length ?? 0) + (evicted.startsWith(origin) ? 1 : 0);
        expect(owned).toBeGreaterThan(capacity / 3);
      }
    }),
  );
});
