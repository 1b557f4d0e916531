import { VERSION } from '../../src/version.ts';
import type { KubernetesObject } from './kubernetes-objects.ts';

/**
 * A line for each value that one of two renderings has and the other has not: `+` for what `changed` has, `-` for what `usual` has, and one
 * for an object that is left out. Common labels are left out, which every object has, and which have the version in them. In the tag of an image
 * the version is replaced.
 */
export function chartDifference(usual: readonly KubernetesObject[], changed: readonly KubernetesObject[]): string {
  const kept = new Set(changed.map(nameOf));
  const left = usual.filter((object) => !kept.has(nameOf(object))).map((object) => `${nameOf(object)}: left out`);
  const before = new Set([...linesOf(usual.filter((object) => kept.has(nameOf(object)))), ...left]);
  const after = linesOf(changed);
  const gone = [...before].filter((line) => !after.has(line)).map((line) => ({ sign: '-', line }));
  const come = [...after].filter((line) => !before.has(line)).map((line) => ({ sign: '+', line }));
  // Stable: of one place, what was there comes before what is there now.
  const lines = [...gone, ...come].sort((a, b) => (placeOf(a.line) < placeOf(b.line) ? -1 : 1));
  return lines.map(({ sign, line }) => `${sign} ${line}\n`).join('');
}

const nameOf = ({ kind, metadata }: KubernetesObject) => `${kind}/${metadata.name}`;
const placeOf = (line: string) => line.slice(0, line.indexOf(': '));

function linesOf(objects: readonly KubernetesObject[]): ReadonlySet<string> {
  const lines = objects.flatMap((object) => valuesOf(nameOf(object), object, ' '));
  return new Set(
    lines.filter((line) => !COMMON_LABEL.test(line)).map((line) => line.replace(`:${VERSION}"`, ':VERSION"')),
  );
}

const COMMON_LABEL = / metadata\.labels\.(app\.kubernetes\.io|helm\.sh)\//;

/** Items of a list are told apart by their name, where they have one: a new one does not change the place of the others. */
function valuesOf(place: string, value: unknown, separator = '.'): string[] {
  if (Array.isArray(value) && value.length > 0)
    return value.flatMap((item) => valuesOf(`${place}[${item?.name ?? item?.key ?? ''}]`, item));
  if (typeof value === 'object' && value !== null && Object.keys(value).length > 0)
    return Object.entries(value).flatMap(([name, inner]) => valuesOf(`${place}${separator}${name}`, inner));
  return [`${place}: ${JSON.stringify(value)}`];
}
