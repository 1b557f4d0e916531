import packageJson from '../package.json' with { type: 'json' };

/** taintkeeper's own version, as in package.json. */
export const VERSION: string = packageJson.version;

/**
 * The oldest Kubernetes that it runs on: since 1.28, `matchConditions` of webhooks are on by default. An older API server drops them
 * without a word. The chart and docs/install.md name it, too.
 */
export const OLDEST_KUBERNETES = '1.28';
