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
