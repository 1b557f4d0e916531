import { expect, it } from 'vitest';
import { anyOf, createSubject } from '../../../src/runtime/source.ts';

it('tells everybody who subscribed, in that order, each until its signal aborts', () => {
  const subject = createSubject<number>();
  const heard: string[] = [];
  const [first, second] = [new AbortController(), new AbortController()];
  const listen = (name: string) => (event: number) => heard.push(`${name}${event}`);
  subject.next(0);
  subject.subscribe(listen('a'), first.signal);
  subject.subscribe(listen('b'), second.signal);
  subject.subscribe(listen('c'));
  subject.next(1);
  first.abort();
  subject.subscribe(listen('d'), first.signal);
  subject.next(2);
  expect(heard).toEqual(['a1', 'b1', 'c1', 'b2', 'c2']);
});

it('tells the same listener once for each subscription', () => {
  const subject = createSubject();
  const [first, second] = [new AbortController(), new AbortController()];
  let count = 0;
  const listener = () => {
    count++;
  };
  for (const { signal } of [first, second]) subject.subscribe(listener, signal);
  subject.next();
  first.abort();
  subject.next();
  expect(count).toBe(3);
});

it('a listener that throws silences none of the others', () => {
  const subject = createSubject<string>();
  const heard: string[] = [];
  const fault = new Error('the first listener');
  subject.subscribe(() => {
    throw fault;
  });
  subject.subscribe((event) => heard.push(event));
  expect(() => subject.next('a')).toThrow(fault);
  expect(heard).toEqual(['a']);
});

it('throws all of several faults', () => {
  const subject = createSubject();
  const faults = ['a', 'b'].map((text) => new Error(text));
  for (const fault of faults) {
    subject.subscribe(() => {
      throw fault;
    });
  }
  expect(() => subject.next()).toThrow(expect.objectContaining({ errors: faults }));
});

it('several sources are one that tells of each, until the signal aborts', () => {
  const [one, other] = [createSubject(), createSubject()];
  const ending = new AbortController();
  let heard = 0;
  anyOf(one, other).subscribe(() => heard++, ending.signal);
  one.next();
  other.next();
  ending.abort();
  one.next();
  other.next();
  expect(heard).toBe(2);
});
