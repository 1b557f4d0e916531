// @ts-check

/** Several of the regular requests are answered in this time. */
const ALONE_MS = 30_000;

/**
 * Judges whether an open page has to be reloaded after an upgrade: only another build than its own has answered for a while. During the
 * upgrade, replicas of both builds may answer in turn. A page that reloaded for each of them would reload continuously.
 *
 * @param {string} own the page's own build
 * @returns {(answering: string, now: number) => boolean}
 */
export function outdatedPage(own) {
  /** @type {number | undefined} */
  let aloneSince;
  return (answering, now) => {
    aloneSince = answering === own ? undefined : (aloneSince ?? now);
    return aloneSince !== undefined && now - aloneSince >= ALONE_MS;
  };
}
