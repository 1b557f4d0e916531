import type { Entry } from '../../cluster/watch/cached-objects.ts';
import type { ClusterNode } from '../sources.ts';

/**
 * For how long the allow-removal annotations of nodes have stood as they are: by the time that the API server has noted, and at least for as long
 * as this leader has seen them. Whoever may write a node can write another time there, and nobody can make the leader forget its own.
 */
export interface AnnouncementAges {
  /** In milliseconds; 0 without the annotation. */
  ageOf(node: Entry<ClusterNode>): number;
  gone(name: string): void;
}

/** @param apiTime by the clock of the API server, in milliseconds */
export function trackAnnouncementAges(apiTime: () => number): AnnouncementAges {
  const seen = new Map<string, { readonly uid: string; readonly allowRemoval: string; readonly since: number }>();
  return {
    ageOf({ name, uid, value: { allowRemoval, announcedAt } }) {
      if (allowRemoval === undefined) {
        seen.delete(name);
        return 0;
      }
      const known = seen.get(name);
      const isSame = known?.uid === uid && known.allowRemoval === allowRemoval;
      const since = isSame ? known.since : performance.now();
      if (!isSame) seen.set(name, { uid, allowRemoval, since });
      const noted = announcedAt === undefined ? 0 : apiTime() - announcedAt;
      return Math.max(performance.now() - since, noted);
    },
    gone: (name) => void seen.delete(name),
  };
}
