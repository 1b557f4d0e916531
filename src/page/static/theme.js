// @ts-check
// Loaded before the page is painted, so that a dark page does not flash white.

const KEY = 'taintkeeper.theme';
const THEMES = /** @type {const} */ (['auto', 'light', 'dark']);

/** @typedef {(typeof THEMES)[number]} Theme */

/**
 * What was chosen last; `auto` follows the system.
 * @returns {Theme}
 */
function storedTheme() {
  try {
    return THEMES.find((theme) => theme === localStorage.getItem(KEY)) ?? 'auto';
  } catch {
    // A browser may forbid storage.
    return 'auto';
  }
}

/** @param {Theme} theme */
function useTheme(theme) {
  if (theme === 'auto') delete document.documentElement.dataset.theme;
  else document.documentElement.dataset.theme = theme;
}

useTheme(storedTheme());

document.addEventListener('DOMContentLoaded', () => {
  const button = document.getElementById('theme');
  if (!button) return;
  let theme = storedTheme();
  const label = () => {
    button.textContent = `Theme: ${theme}`;
  };
  label();
  button.addEventListener('click', () => {
    theme = THEMES[(THEMES.indexOf(theme) + 1) % THEMES.length] ?? 'auto';
    try {
      localStorage.setItem(KEY, theme);
    } catch {
      // Without storage, the theme lasts until the page is loaded again.
    }
    useTheme(theme);
    label();
  });
});
