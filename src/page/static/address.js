// @ts-check
/** @import { PageAddress } from './hrefs.js' */
import { addressIn, hrefOf } from './hrefs.js';

/** Browsers limit how often the address may change. */
const WRITE_AFTER_MS = 250;

/** @type {Map<string, PageAddress>} where each panel was left */
const addresses = new Map();
/** @type {ReturnType<typeof setTimeout> | undefined} */
let writing;

/**
 * The address of a panel as it was last shown.
 * @param {string} tab
 * @returns {PageAddress}
 */
export function addressOf(tab) {
  return addresses.get(tab) ?? { tab, object: '', filters: {} };
}

/** Reads the address, and returns it. */
export function arrive() {
  clearTimeout(writing);
  const address = addressIn(location.hash);
  addresses.set(address.tab, address);
  return address;
}

/**
 * Shows a panel as it was left. The address is replaced, so that "back" does not lead through tabs.
 * @param {string} tab
 */
export function enter(tab) {
  clearTimeout(writing);
  const { object, filters } = addressOf(tab);
  history.replaceState(null, '', hrefOf(tab, object, filters));
}

/**
 * Changes the address within the panel in view, without a history entry.
 * @param {string} tab
 * @param {Partial<Pick<PageAddress, 'object' | 'filters'>>} change
 */
export function amend(tab, change) {
  addresses.set(tab, { ...addressOf(tab), ...change });
  clearTimeout(writing);
  writing = setTimeout(() => enter(tab), WRITE_AFTER_MS);
}
