/**
 * What CHANGELOG.md says of a version.
 * @throws Error when it has no section for it, or an empty one
 */
export function releaseNotes(changelog: string, version: string): string {
  const sections = changelog.split(/^## /m).slice(1);
  const section = sections.find((text) => /^\[?([^\]\s]+)/.exec(text)?.[1] === version);
  const notes = section?.slice(section.indexOf('\n')).trim();
  if (!notes)
    throw new Error(`CHANGELOG.md has no notes for ${version}: give "## Unreleased" that name and today's date`);
  return `${notes}\n`;
}

/** @throws Error when the section of a version has no date: it is not finished */
export function checkIsDated(changelog: string, version: string): void {
  const headings = changelog.match(/^## .*/gm) ?? [];
  if (headings.some((heading) => /^## \[?([^\]\s]+)\]? - \d{4}-\d\d-\d\d$/.exec(heading)?.[1] === version)) return;
  throw new Error(`CHANGELOG.md has no heading "## ${version} - YYYY-MM-DD": replace that of its first section`);
}

/** GitHub refuses more than 125,000, after image and chart are pushed. */
const LONGEST_TEXT = 120_000;

/**
 * The text of a release on GitHub.
 * @param changelog the address of CHANGELOG.md of that version
 */
export function textForGitHub(notes: string, changelog: string): string {
  if (notes.length <= LONGEST_TEXT) return notes;
  return `The changes are too many for this page. They are in [CHANGELOG.md](${changelog}).\n`;
}
