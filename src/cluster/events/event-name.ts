import { randomBytes } from 'node:crypto';

const NAME_MAX_LENGTH = 253;
const DNS_SUBDOMAIN = /^[a-z0-9]([-a-z0-9]*[a-z0-9])?(\.[a-z0-9]([-a-z0-9]*[a-z0-9])?)*$/;

/** A name that nobody else takes; it begins with the object's, as people expect of Events, where that is possible. */
export function eventName(object: string): string {
  const suffix = randomBytes(8).toString('hex');
  const name = `${object}.${suffix}`;
  return name.length <= NAME_MAX_LENGTH && DNS_SUBDOMAIN.test(name) ? name : `taintkeeper.${suffix}`;
}
