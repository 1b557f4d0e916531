import { parseTaint, type Taint } from '../taint.ts';

/**
 * The annotation on a Node that says which taints the API server put back by itself, and for which policies: `POLICY
 * key=value:Effect, …`. It is written where a webhook stands behind it, which tells the requester and takes it out again. Of several
 * policies that protect a taint it names the one that the API server came to first.
 */
export const RESTORED_ANNOTATION = 'taintkeeper.dev/restored';

/** In characters. The newest entries come first; of the last one, what is cut off makes the rest unreadable. */
export const MAX_RESTORED_LENGTH = 8_192;

export const RESTORED_SEPARATOR = ', ';

/** A taint that was put back, and the TaintPolicy on whose behalf. */
export interface RestoredTaint {
  readonly policy: string;
  readonly taint: Taint;
}

/** What the annotation says; entries that cannot be read are left out. */
export function parseRestored(annotation: string | undefined): RestoredTaint[] {
  return (annotation ?? '').split(',').flatMap((entry) => {
    const [policy, text, ...rest] = entry.trim().split(' ');
    const taint = text !== undefined && rest.length === 0 ? parseTaint(text) : undefined;
    return policy && taint ? [{ policy, taint: { ...taint, value: taint.value ?? '' } }] : [];
  });
}
