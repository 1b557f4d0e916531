/** The names of our webhooks and native policies end with it. Names of static native policies go on after it (src/native/native-policy.ts). */
export const OWN_SUFFIX = '.taintkeeper.dev';

/** Whether the webhook or native policy is ours, by its name. */
export function isOurs(name: string): boolean {
  return name.endsWith(OWN_SUFFIX);
}

/** Such as `protect` for `protect.taintkeeper.dev`. Other names stay as they are. */
export function shortName(name: string): string {
  return isOurs(name) ? name.slice(0, -OWN_SUFFIX.length) : name;
}
