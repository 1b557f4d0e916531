import type { Static } from 'typebox';
import * as Type from 'typebox';
import {
  compileSelector,
  type LabelSelectorRequirement,
  NAMESPACE_NAME_LABEL,
  type StringMap,
} from '../kubernetes/label-selector.ts';
import { DNS_LABEL, DNS_LABEL_LENGTH } from '../kubernetes/names.ts';
import { compilePattern } from '../kubernetes/pattern.ts';
import { NamePatterns } from './field-schemas.ts';
import { LabelSelectorSchema } from './selector.ts';

/** `spec.daemonSets` of a policy. */
export const DaemonSetSelectionSchema = Type.Object(
  {
    namespaces: Type.Array(Type.String({ minLength: 1, maxLength: DNS_LABEL_LENGTH }), {
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

const NAMESPACE = new RegExp(`^${DNS_LABEL}$`);

export function isNamespaceName(name: string): boolean {
  return NAMESPACE.test(name);
}

const MAX_NAMED = 256;

/**
 * The requirement for the labels of the namespaces, by {@link NAMESPACE_NAME_LABEL}. Empty if one of them is a pattern, which a selector
 * cannot express, or an invalid name, which a selector must not contain. Also empty if there are too many for one selector.
 */
export function namespaceRequirements(namespaces: readonly string[]): LabelSelectorRequirement[] {
  const values = [...new Set(namespaces)].sort();
  if (values.length > MAX_NAMED || !values.every(isNamespaceName)) return [];
  return [{ key: NAMESPACE_NAME_LABEL, operator: 'In', values }];
}

/** The fields of a DaemonSet that a selection reads. */
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
  const selectsLabels = compileSelector(selector);
  return (daemonSet) =>
    namespaceMatchers.some((matches) => matches(daemonSet.namespace)) &&
    nameMatchers.some((matches) => matches(daemonSet.name)) &&
    selectsLabels(daemonSet.labels);
}
