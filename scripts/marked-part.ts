/**
 * A page whose part between two markers, `<!-- NAME: begin; … -->` and `<!-- NAME: end -->`, is replaced.
 * @throws Error when a marker is missing
 */
export function withPart(page: string, name: string, text: string): string {
  const begin = `<!-- ${name}: begin; written by \`npm run generate\` -->`;
  const end = `<!-- ${name}: end -->`;
  const [from, to] = [page.indexOf(begin), page.indexOf(end)];
  if (from < 0 || to < from) throw new Error(`not found, in this order: ${begin} and ${end}`);
  return `${page.slice(0, from)}${begin}\n\n${text}\n\n${page.slice(to)}`;
}
