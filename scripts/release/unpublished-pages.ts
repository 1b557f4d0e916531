import { globSync, readFileSync } from 'node:fs';
import { join } from 'node:path';

const SAYS_UNPUBLISHED = 'No image is published';

/**
 * Pages stay in the repository after the release, and the chart that is published links to them.
 * @param folder a clone
 * @throws Error with the pages that say that there is no image
 */
export function checkPagesSayPublished(folder: string): void {
  const pages = globSync(['*.md', 'docs/**/*.md', 'test/*.md'], { cwd: folder }).sort();
  const wrong = pages.filter((page) => readFileSync(join(folder, page), 'utf8').includes(SAYS_UNPUBLISHED));
  if (wrong.length === 0) return;
  throw new Error(`"${SAYS_UNPUBLISHED}" is in ${wrong.join(', ')}: name the image of the release there`);
}
