import packageJson from '../package.json' with { type: 'json' };

/** taintkeeper's own version, as in package.json. */
export const VERSION: string = packageJson.version;

/**
 * The oldest Kubernetes that it installs on: the installation has ValidatingAdmissionPolicies, which are served as
 * admissionregistration.k8s.io/v1 since 1.30. `matchConditions` of webhooks are stable since then, too. The chart and docs/upgrading.md
 * name the version as well.
 */
export const OLDEST_KUBERNETES = '1.30';
