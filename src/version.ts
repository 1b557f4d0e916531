import packageJson from '../package.json' with { type: 'json' };

/** taintkeeper's own version, as in package.json. */
export const VERSION: string = packageJson.version;
