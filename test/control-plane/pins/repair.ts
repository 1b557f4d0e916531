import type { Draft } from './draft.ts';
import type { Go } from './go.ts';
import { buildTags, findNeeds } from './needs.ts';
import { settle } from './settle.ts';

/**
 * Repairs a go.mod where a build would fail, and leaves any other as it is.
 *
 * @param home the folder that the draft is of
 * @param held modules that keep the version they have
 * @throws Unobtainable when there is nothing instead of what is missing
 */
export async function repair(go: Go, draft: Draft, home: string, held: readonly string[] = []): Promise<void> {
  const { missing, complaints } = await findNeeds(go, draft.folder, buildTags(home));
  if (missing.length > 0 || complaints.length > 0) await settle(go, draft.folder, held);
}
