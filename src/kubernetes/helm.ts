/** The annotation that Helm sets on each object that it installs. */
export const RELEASE_ANNOTATION = 'meta.helm.sh/release-name';
