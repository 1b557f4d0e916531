import type { TaintPolicy, TolerationPolicy } from '../policy/policy.ts';
import type { Assembled } from './assemble.ts';
import { OBJECT_NAME_LENGTH } from './manifests.ts';
import type { NativeLimit, NativeTranslation } from './native-policy.ts';

/** From this size on, nobody needs to know the limit. */
const LARGE = 256;

const WORDS = {
  TaintPolicy: { items: 'taints', field: 'spec.taints', object: 'a node' },
  TolerationPolicy: { items: 'tolerations', field: 'spec.tolerations', object: 'a DaemonSet' },
} as const;

/** The translation that consists of these objects, or the refusal if the API server would not take or not evaluate one of them. */
export function conclude(
  { kind, name }: TaintPolicy | TolerationPolicy,
  assembled: readonly Assembled[],
  limits: readonly NativeLimit[],
): NativeTranslation {
  const { items, field, object } = WORDS[kind];
  const refused = (why: string): NativeTranslation => ({
    policies: [],
    limits: [],
    refusal: `${kind} ${name}: ${why}`,
  });

  const long = assembled.find(({ policy }) => policy.name.length > OBJECT_NAME_LENGTH);
  if (long) {
    const excess = long.policy.name.length - OBJECT_NAME_LENGTH;
    return refused(
      `${long.policy.name} would be too long a name for an object: give the policy one shorter by ${excess}`,
    );
  }
  const sizes = assembled.flatMap(({ size }) => size ?? []);
  if (sizes.length < assembled.length) {
    return refused(
      `the API server would stop evaluating it for ${object} with 64 ${items}: divide it into policies with fewer ${items}, selectors and patterns each`,
    );
  }
  const size = Math.min(...sizes);
  return {
    policies: assembled.map(({ policy }) => policy),
    limits:
      size >= LARGE
        ? limits
        : [
            ...limits,
            { field, message: `the API server may stop evaluating it for ${object} with more than ${size} ${items}` },
          ],
  };
}
