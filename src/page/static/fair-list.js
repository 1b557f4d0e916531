// @ts-check
/** @import { PageDecision } from '../state.ts' */

/**
 * Limits the number of decisions by the rule of the program (fair-map.ts): removes the oldest decision of the origin that has the most, and
 * within that origin of the user that has the most. So a pod that forges reviews displaces only its own.
 * @param {readonly PageDecision[]} decisions
 * @param {number} room
 * @returns {PageDecision[]}
 */
export function mostOf(decisions, room) {
  let kept = [...decisions].sort((a, b) => a.time.localeCompare(b.time) || a.id.localeCompare(b.id));
  while (kept.length > room) {
    const noisiest = noisiestOf(kept);
    kept = kept.filter((decision) => decision !== noisiest);
  }
  return kept;
}

/** @param {readonly PageDecision[]} decisions the oldest first */
function noisiestOf(decisions) {
  const origins = Map.groupBy(decisions, ({ origin }) => origin);
  const users = Map.groupBy(decisions, userOf);
  /** @param {PageDecision} decision */
  const noise = (decision) => [origins.get(decision.origin)?.length ?? 0, users.get(userOf(decision))?.length ?? 0];
  return decisions.reduce((noisiest, decision) => {
    const [[most = 0, mostOfUser = 0], [count = 0, countOfUser = 0]] = [noise(noisiest), noise(decision)];
    return count > most || (count === most && countOfUser > mostOfUser) ? decision : noisiest;
  });
}

/** @param {PageDecision} decision */
function userOf({ origin, user }) {
  return JSON.stringify([origin, user]);
}
