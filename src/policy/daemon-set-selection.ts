import Type, { type Static } from 'typebox';
import type { StringMap } from './label-selector.ts';
import { selects } from './label-selector.ts';
import { LabelSelectorSchema } from './label-selector-schema.ts';
import { compilePattern } from './pattern.ts';
import { NamePatterns } from './schema.ts';

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
