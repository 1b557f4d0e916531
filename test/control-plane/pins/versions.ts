import { compare, gt, parse, prerelease, rcompare } from 'semver';

/** The releases of one minor version, newest first. @param minor such as `1.36` */
export function patchesOf(versions: readonly string[], minor: string): string[] {
  return versions.filter((version) => isRelease(version) && minorOf(version) === minor).sort(rcompare);
}

/** `1.36` of `v1.36.3`. */
export function minorOf(version: string): string {
  const { major, minor } = parse(version, {}, true);
  return `${major}.${minor}`;
}

/**
 * What may stand in for a version that is lost, the best first: the next later ones, since who asks for a version is
 * content with a later one; then the next earlier ones. Pre-releases, and commits without a tag, are for modules that
 * have nothing else.
 */
export function substitutesFor(lost: string, versions: readonly string[]): string[] {
  const others = versions.filter((version) => version !== lost);
  const later = others.filter((version) => gt(version, lost)).sort(compare);
  const earlier = others.filter((version) => !gt(version, lost)).sort(rcompare);
  const releasesFirst = [later, earlier].flatMap((side) => side.filter(isRelease));
  return [...releasesFirst, ...[later, earlier].flatMap((side) => side.filter((version) => !isRelease(version)))];
}

function isRelease(version: string): boolean {
  return prerelease(version) === null;
}
