import type { Static } from 'typebox';
import * as Type from 'typebox';
import { type LabelSelectorRequirement, type StringMap, selects } from '../kubernetes/label-selector.ts';
import { compilePattern } from '../kubernetes/pattern.ts';
import { NamePatterns } from './schema.ts';
import { LabelSelectorSchema } from './selector.ts';

/** `spec.daemonSets` of a policy. */
export const DaemonSetSelectionSchema = Type.Object(
  {
    namespaces: Type.Array(Type.String({ minLength: 1, maxLength: 63 }), {
      description: 'Namespaces of the DaemonSets; `*` stands for any run of characters.',
      minItems: 1,
      maxItems: 64,
    }),
    names: Type.Optional(
      NamePatterns('Names of the DaemonSets; `*` stands for any run of characters.', { default: ['*'] }),
    ),
    selector: Type.Optional(LabelSelectorSchema('Labels of the DaemonSets. Without it, any.')),
  },
  {
    description: 'The DaemonSets that the policy is for: all three parts must match.',
    additionalProperties: false,
  },
);

export type DaemonSetSelection = Static<typeof DaemonSetSelectionSchema>;

/** What a namespace can be called (RFC 1123). */
const NAMESPACE = /^[a-z0-9]([-a-z0-9]*[a-z0-9])?$/;

export function isNamespaceName(name: string): boolean {
  return NAMESPACE.test(name);
}

const MAX_NAMED = 256;

/**
 * What the labels of the namespaces meet, by the label that the API server gives to each. Nothing where they are not all named: a
 * pattern is more than a selector can say, and what no namespace is called, it must not say. Nor where they are too many for one.
 */
export function namespaceRequirements(namespaces: readonly string[]): LabelSelectorRequirement[] {
  const values = [...new Set(namespaces)].sort();
  if (values.length > MAX_NAMED || !values.every(isNamespaceName)) return [];
  return [{ key: 'kubernetes.io/metadata.name', operator: 'In', values }];
}

/** What a selection looks at in a DaemonSet. */
export interface SelectableDaemonSet {
  readonly namespace: string;
  readonly name: string;
  readonly labels: StringMap;
}

export function compileDaemonSetSelection({
  namespaces,
  names = ['*'],
  selector,
}: DaemonSetSelection): (daemonSet: SelectableDaemonSet) => boolean {
  const namespaceMatchers = namespaces.map(compilePattern);
  const nameMatchers = names.map(compilePattern);
  return (daemonSet) =>
    namespaceMatchers.some((matches) => matches(daemonSet.namespace)) &&
    nameMatchers.some((matches) => matches(daemonSet.name)) &&
    (selector === undefined || selects(selector, daemonSet.labels));
}
