import { all, any, choose, type Expression, FALSE, literal, other, type Variable } from '../cel/expression.ts';
import { EMPTY, mapped, those } from '../cel/lists.ts';
import { annotationOf } from '../conditions/protection-changes.ts';
import { WRITTEN } from '../conditions/settled.ts';
import { IDENTITY, isProtected, notAmong } from '../conditions/taints.ts';
import { MAX_REMOVED, REMOVED_ANNOTATION, REMOVED_SEPARATOR } from '../judge/removal.ts';
import { MAX_RESTORED_LENGTH, RESTORED_ANNOTATION, RESTORED_SEPARATOR } from '../judge/restored-natively.ts';
import type { TaintRule } from '../policy/taint-policy.ts';
import { entriesOf, type NodeSubject, SPLIT_COST } from './node-subject.ts';

/** Where in an object an annotation stands (RFC 6901), as a literal in CEL. */
export function pathOf(annotation: string): string {
  return literal(`/metadata/annotations/${annotation.replaceAll('~', '~0').replaceAll('/', '~1')}`);
}

/** Entries of the annotation that are told apart. */
const MAX_ENTRIES = 64;

/** What {@link RECORD} uses, of the taints that are `restored` for this policy. */
export function recordVariables(policy: string): Variable[] {
  return [
    { name: 'oldRecord', definition: annotationOf('object', RESTORED_ANNOTATION) },
    { name: 'recorded', definition: entriesOf('oldRecord', MAX_ENTRIES) },
    {
      name: 'news',
      definition: other(
        `${mapped('restored', `${literal(`${policy} `)} + ${WRITTEN.text}`)}\n  .filter(e, !(e in recorded))`,
        (size) => size * (WRITTEN.cost(size) + 80 + MAX_ENTRIES),
        ['restored', 'recorded'],
      ),
    },
    {
      name: 'records',
      definition: other(
        `(news + recorded.filter(e, e != "")).join(${literal(RESTORED_SEPARATOR)})`,
        (size) => size * 120 + SPLIT_COST,
        ['recorded', 'news'],
      ),
    },
    {
      name: 'record',
      definition: other(
        `size(records) > ${MAX_RESTORED_LENGTH} ? records.substring(0, ${MAX_RESTORED_LENGTH}) : records`,
        SPLIT_COST,
        ['records'],
      ),
    },
  ];
}

/** JSONPatch operations that write down what was put back: for the webhook behind, which alone can tell the requester. */
export const RECORD: Expression = other(
  `(has(object.metadata.annotations) ? [] : [JSONPatch{op: "add", path: "/metadata/annotations", value: {}}]) +
[JSONPatch{op: "add", value: record, path: ${pathOf(RESTORED_ANNOTATION)}}]`,
  200,
  ['record'],
);

/** In characters. What would make it longer is not recorded: 64 taints of ordinary names fit. */
const MAX_LENGTH = 8_192;

/** JSONPatch operations that record which Present taints are `gone` by exemption, {@link recordRemovals} in CEL, and what they use. */
export interface RemovalRecord {
  readonly variables: readonly Variable[];
  /** None where the policy exempts nobody, or declares nothing Present. */
  readonly operations: readonly Expression[];
}

const hasValue = ({ value }: TaintRule): boolean => value !== undefined;

/** What is on the list already stays: to take out what is over is left to the webhook and the leader. */
export function removalRecord({ taints, exempt, selects }: NodeSubject): RemovalRecord {
  const present = taints.filter(({ ensure }) => ensure === 'Present');
  if (exempt === FALSE || present.length === 0) return { variables: [], operations: [] };
  const [named, others] = [present.filter(hasValue), present.filter((rule) => !hasValue(rule))];
  // Any other value is as good to a rule that names none.
  const isBare = notAmong(IDENTITY, 'afterIds');
  const path = pathOf(REMOVED_ANNOTATION);
  return {
    variables: [
      { name: 'oldRemoved', definition: annotationOf('object', REMOVED_ANNOTATION) },
      { name: 'removals', definition: entriesOf('oldRemoved', MAX_REMOVED + 1) },
      {
        name: 'goneByExemption',
        definition: those('gone', any([isProtected(named), all([isProtected(others), isBare])])),
      },
      {
        name: 'newRemovals',
        definition: other(
          `${mapped('goneByExemption', WRITTEN.text)}\n  .filter(e, !(e in removals))`,
          (size) => size * (WRITTEN.cost(size) + 40 + MAX_REMOVED),
          ['goneByExemption', 'removals'],
        ),
      },
      {
        name: 'allRemovals',
        definition: other(
          `(removals.filter(e, e != "") + newRemovals).join(${literal(REMOVED_SEPARATOR)})`,
          (size) => size * 120 + SPLIT_COST,
          ['removals', 'newRemovals'],
        ),
      },
    ],
    operations: [
      choose(
        all([
          exempt,
          selects.labels,
          other('size(newRemovals) > 0', 3, ['newRemovals']),
          other(`size(allRemovals) <= ${MAX_LENGTH}`, 3, ['allRemovals']),
        ]),
        other(
          `(has(object.metadata.annotations) ? [] : [JSONPatch{op: "add", path: "/metadata/annotations", value: {}}]) +
[JSONPatch{op: "add", path: ${path}, value: allRemovals}]`,
          200,
          ['allRemovals'],
        ),
        EMPTY,
      ),
    ],
  };
}
