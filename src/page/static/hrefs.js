// @ts-check
/** @import { Place } from '../state.ts' */

/**
 * The filters of a list. An empty or absent filter matches all.
 * @typedef {Readonly<Record<string, string>>} Filters
 */

/**
 * A view of the page: a panel, one of its objects (a node's name, `NAMESPACE/NAME` of a DaemonSet, `KIND/NAME` of a policy, or empty), and
 * the filters of its list. The address has all of it: `#nodes/gpu-7?show=missing`.
 * @typedef {{ readonly tab: string; readonly object: string; readonly filters: Filters }} PageAddress
 */

/**
 * @param {string} tab
 * @param {string} [object]
 * @param {Filters} [filters]
 */
export function hrefOf(tab, object = '', filters = {}) {
  const path = [tab, ...(object === '' ? [] : object.split('/'))].map(encodeURIComponent).join('/');
  const query = new URLSearchParams(Object.entries(filters).filter(([, value]) => value !== '')).toString();
  return `#${path}${query === '' ? '' : `?${query}`}`;
}

/**
 * The address of a place.
 * @param {Place} place
 */
export function hrefAt({ tab, object, filters }) {
  return hrefOf(tab, object, filters);
}

/**
 * The reverse of {@link hrefOf}.
 * @param {string} hash of an address, which a user may have typed
 * @returns {PageAddress}
 */
export function addressIn(hash) {
  const [path = '', ...query] = hash.replace(/^#/, '').split('?');
  const [tab = '', ...object] = path.split('/').map(decoded);
  return { tab, object: object.join('/'), filters: Object.fromEntries(new URLSearchParams(query.join('?'))) };
}

/** @param {string} text */
function decoded(text) {
  try {
    return decodeURIComponent(text);
  } catch {
    return text;
  }
}
