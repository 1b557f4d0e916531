import { DNS_SUBDOMAIN_LENGTH } from '../kubernetes/names.ts';
import type { NativelyExpressible } from '../policy/backstop.ts';
import type { Policy } from '../policy/policy.ts';
import type { Assembled } from './assemble.ts';
import type { NativePolicy } from './native-policy.ts';

export interface TranslationOptions extends Target {
  /** All policies that are in force, in any way: some of them take precedence over others. */
  readonly among: readonly Policy[];
}

/** What a policy is translated for. */
export interface Target {
  /** Whether the API server has MutatingAdmissionPolicy, in any version. */
  readonly mutates: boolean;
  /**
   * Its purpose. Alone: without taintkeeper in the cluster, with warnings to requesters. Backstop: in addition to the webhook, which reports
   * everything that can be reported.
   */
  readonly purpose: 'Alone' | 'Backstop';
}

/** Something that a policy says and the API server's own language does not. */
export interface NativeLimit {
  /** The field of the policy that says it, for example `spec.removalByAnnotation`. */
  readonly field: string;
  /** What happens instead. */
  readonly message: string;
}

/** The native policies that one policy becomes, or why there are none. */
export interface NativeTranslation {
  readonly policies: readonly NativePolicy[];
  readonly limits: readonly NativeLimit[];
  /** Why the API server could not evaluate it, and what to do; then there are no policies. */
  readonly refusal?: string;
}

/** From this number of items on, a limit is not worth mentioning. */
const LARGE = 256;

interface Words {
  readonly items: string;
  readonly field: string;
  readonly object: string;
}

const WORDS: Readonly<Record<NativelyExpressible['kind'], Words>> = {
  TaintPolicy: { items: 'taints', field: 'spec.taints', object: 'a node' },
  TolerationPolicy: { items: 'tolerations', field: 'spec.tolerations', object: 'a DaemonSet' },
  TolerationRestriction: { items: 'tolerations', field: 'spec.taints', object: 'a pod' },
};

/** The translation with these objects, or the refusal if the API server would not accept or not evaluate one of them. */
export function translationOf(
  { kind, name }: Pick<NativelyExpressible, 'kind' | 'name'>,
  assembled: readonly Assembled[],
  limits: readonly NativeLimit[],
): NativeTranslation {
  const { items, field, object } = WORDS[kind];
  const refused = (why: string): NativeTranslation => ({
    policies: [],
    limits: [],
    refusal: `${kind} ${name}: ${why}`,
  });

  const long = assembled.find(({ policy }) => policy.name.length > DNS_SUBDOMAIN_LENGTH);
  if (long) {
    const excess = long.policy.name.length - DNS_SUBDOMAIN_LENGTH;
    return refused(
      `${long.policy.name} is too long for the name of an object: shorten the name of the policy by ${excess}`,
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
