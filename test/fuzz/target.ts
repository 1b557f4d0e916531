import { ok } from 'node:assert/strict';
import fc from 'fast-check';

/** One thing to throw input at, and what has to hold whatever is thrown. */
export interface FuzzTarget {
  readonly name: string;
  /** Its part of all cases, in proportion to that of the others: slow ones have a small one. */
  readonly share: number;
  readonly property: fc.IAsyncPropertyWithHooks<[unknown]>;
}

/**
 * A target whose check throws when something does not hold. That no prototype is touched is looked at after each case.
 * @param input what to throw at it; it is printed when the check fails
 */
export function target<Input>(
  name: string,
  share: number,
  input: fc.Arbitrary<Input>,
  check: (input: Input) => void | Promise<void>,
): FuzzTarget {
  const property = fc.asyncProperty(input, async (value) => {
    const before = prototypeNames();
    await check(value);
    ok(prototypeNames() === before, `a prototype was changed: ${before} became ${prototypeNames()}`);
  });
  return { name, share, property: property as unknown as FuzzTarget['property'] };
}

/** What every object, list and function has. */
function prototypeNames(): string {
  return [Object.prototype, Array.prototype, Function.prototype].map((each) => Reflect.ownKeys(each).length).join();
}
