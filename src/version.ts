import packageJson from '../package.json' with { type: 'json' };

/** taintkeeper's own version, as in package.json. */
export const VERSION: string = packageJson.version;

/**
 * The oldest Kubernetes that it installs on: API servers know `matchLabelKeys` of an anti-affinity since 1.29, and refuse it before.
 * Since 1.28, `matchConditions` of webhooks are on by default; an older API server drops them without a word. The chart and
 * docs/install.md name the version, too.
 */
export const OLDEST_KUBERNETES = '1.29';
