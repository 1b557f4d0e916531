import { expect, it } from 'vitest';
import { isOnlyLoadable } from '../../../src/scheduling/only-loadable.ts';

it.each([
  { image: 'taintkeeper.invalid/taintkeeper:0.1.0', onlyLoadable: true },
  { image: 'localhost/taintkeeper', onlyLoadable: true },
  { image: 'localhost:5000/taintkeeper', onlyLoadable: true },
  { image: 'registry.example.com/taintkeeper:1', onlyLoadable: false },
  { image: 'taintkeeper:1', onlyLoadable: false },
])('whether no registry has $image: $onlyLoadable', ({ image, onlyLoadable }) => {
  expect(isOnlyLoadable(image)).toBe(onlyLoadable);
});
