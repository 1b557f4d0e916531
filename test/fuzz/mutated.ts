import fc from 'fast-check';
import { hostileName, hostileText, hostileValue } from './hostile.ts';

/** A change of one place in a JSON value. */
interface Edit {
  /** Counted through in the order of the text, and around. */
  readonly place: number;
  /** `to` takes the place's place, or stands beside it under the name. */
  readonly how: 'remove' | 'repeat' | { readonly name: string | undefined; readonly to: unknown };
}

const edit: fc.Arbitrary<Edit> = fc.record({
  place: fc.nat(),
  how: fc.oneof(
    fc.record({ name: fc.option(hostileName, { nil: undefined }), to: hostileValue }),
    fc.constant('remove' as const),
    fc.constant('repeat' as const),
  ),
});

/** One of the values, with some places replaced, removed, repeated, or with something beside them. */
export function mutatedJson(seeds: readonly unknown[]): fc.Arbitrary<unknown> {
  return fc
    .tuple(fc.constantFrom(...seeds.map((seed) => JSON.stringify(seed))), fc.array(edit, { maxLength: 5 }))
    .map(([text, edits]) => {
      const root = { it: JSON.parse(text) as unknown };
      for (const each of edits) apply(root, each);
      return root.it ?? null;
    });
}

/** One of the texts, with some pieces replaced or removed. */
export function mutatedText(seeds: readonly string[]): fc.Arbitrary<string> {
  const cut = fc.record({ at: fc.nat(), length: fc.nat({ max: 30 }), to: fc.oneof(fc.constant(''), yamlPiece) });
  return fc.tuple(fc.constantFrom(...seeds), fc.array(cut, { maxLength: 6 })).map(([seed, cuts]) =>
    cuts.reduce((text, { at, length, to }) => {
      const from = at % (text.length + 1);
      return text.slice(0, from) + to + text.slice(from + length);
    }, seed),
  );
}

/** What YAML makes something of. */
const yamlPiece = fc.oneof(
  hostileText,
  hostileValue.map((value) => JSON.stringify(value)),
  fc.constantFrom(
    ...[
      '\n---\n',
      '\n...\n',
      '&a ',
      '*a',
      '<<: *a',
      '!!js/function x',
      '!!binary aGk=',
      '|\n',
      '>-\n ',
      '? ',
      ': ',
      '- ',
    ],
    ...[
      '{',
      '}',
      '[',
      ']',
      '#',
      '%YAML 1.1\n---\n',
      '"',
      "'",
      '\t',
      '\n',
      '  ',
      '~',
      'null',
      'yes',
      '0x1F',
      '.inf',
      '1e999',
    ],
    ...['$patch: delete', 'kind: TaintPolicy', 'taints:', 'spec:', 'machine:', 'nodeTaints:', '__proto__:'],
  ),
);

function apply(root: { it: unknown }, { place, how }: Edit): void {
  const places: { holder: object; name: string }[] = [];
  collect(root, places);
  const { holder, name } = places[place % places.length] ?? { holder: root, name: 'it' };
  const value: unknown = Reflect.get(holder, name);
  if (how === 'remove') {
    if (Array.isArray(holder)) holder.splice(Number(name), 1);
    else Reflect.deleteProperty(holder, name);
  } else if (how === 'repeat') {
    if (Array.isArray(holder)) holder.splice(Number(name), 0, structuredClone(value));
    else setOwn(holder, `${name}2`, structuredClone(value));
  } else if (how.name !== undefined && !Array.isArray(holder)) setOwn(holder, how.name, structuredClone(how.to));
  else setOwn(holder, name, structuredClone(how.to));
}

function collect(holder: object, places: { holder: object; name: string }[]): void {
  for (const name of Object.keys(holder)) {
    places.push({ holder, name });
    const value: unknown = Reflect.get(holder, name);
    if (typeof value === 'object' && value !== null) collect(value, places);
  }
}

/** Like JSON.parse, which makes `__proto__` a property like any other. */
function setOwn(holder: object, name: string, value: unknown): void {
  Object.defineProperty(holder, name, { value, writable: true, enumerable: true, configurable: true });
}
