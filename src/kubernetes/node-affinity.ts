import { ownValue, type StringMap } from './label-selector.ts';
import { isLabelValue, isQualifiedName } from './names.ts';

/** A NodeSelectorTerm of core/v1: all of its requirements must be met. One without any matches no node. */
export interface NodeSelectorTerm {
  /** About the node's labels. */
  readonly matchExpressions: readonly NodeSelectorRequirement[];
  /** About the node's fields, of which there is one: `metadata.name`. */
  readonly matchFields: readonly NodeSelectorRequirement[];
}

/** A NodeSelectorRequirement of core/v1. */
export interface NodeSelectorRequirement {
  readonly key: string;
  /** `In`, `NotIn`, `Exists`, `DoesNotExist`, `Gt` or `Lt`; for fields only the first two. */
  readonly operator: string;
  readonly values: readonly string[];
}

/** Why a term does not match a node. */
export interface TermMismatch {
  /** Its place in `nodeSelectorTerms`. */
  readonly index: number;
  /** None for an empty term. */
  readonly unmet: readonly UnmetRequirement[];
}

export interface UnmetRequirement extends NodeSelectorRequirement {
  /** The node's value, if it has one. */
  readonly found: string | undefined;
  /** True for a requirement that no node can meet, because Kubernetes considers it malformed. */
  readonly malformed: boolean;
}

interface AffinityNode {
  readonly name: string;
  readonly labels: StringMap;
}

/**
 * Prepares the terms of a required node affinity, one of which must match. The function returns why no term matches, or
 * `undefined` if one does. Without terms, no node matches. The rules are those of `LazyErrorNodeSelector` in
 * k8s.io/component-helpers/scheduling/corev1/nodeaffinity: a malformed requirement affects only its own term.
 */
export function compileNodeAffinity(
  terms: readonly NodeSelectorTerm[],
): (node: AffinityNode) => TermMismatch[] | undefined {
  const compiled = terms.map(compileTerm);
  return (node) => {
    const mismatches: TermMismatch[] = [];
    for (const [index, requirements] of compiled.entries()) {
      const unmet = requirements.flatMap((unmetBy) => unmetBy(node) ?? []);
      if (requirements.length > 0 && unmet.length === 0) return undefined;
      mismatches.push({ index, unmet });
    }
    return mismatches;
  };
}

type CompiledRequirement = (node: AffinityNode) => UnmetRequirement | undefined;

function compileTerm({ matchExpressions, matchFields }: NodeSelectorTerm): CompiledRequirement[] {
  return [
    ...matchExpressions.map((requirement) =>
      compile(requirement, labelTest(requirement), ({ labels }) => ownValue(labels, requirement.key)),
    ),
    ...matchFields.map((requirement) =>
      compile(requirement, fieldTest(requirement), ({ name }) =>
        requirement.key === 'metadata.name' ? name : undefined,
      ),
    ),
  ];
}

/** Whether a node's value meets a requirement. */
type Test = (value: string | undefined) => boolean;

function compile(
  requirement: NodeSelectorRequirement,
  test: Test | undefined,
  read: (node: AffinityNode) => string | undefined,
): CompiledRequirement {
  return (node) => {
    const found = read(node);
    return test?.(found) ? undefined : { ...requirement, found, malformed: test === undefined };
  };
}

/** `labels.NewRequirement` and `Requirement.Matches` of k8s.io/apimachinery; undefined for a requirement that the former refuses. */
function labelTest({ key, operator, values }: NodeSelectorRequirement): Test | undefined {
  if (!isQualifiedName(key) || !values.every(isLabelValue)) return undefined;
  switch (operator) {
    case 'In':
      return values.length > 0 ? (value) => value !== undefined && values.includes(value) : undefined;
    case 'NotIn':
      return values.length > 0 ? (value) => value === undefined || !values.includes(value) : undefined;
    case 'Exists':
      return values.length === 0 ? (value) => value !== undefined : undefined;
    case 'DoesNotExist':
      return values.length === 0 ? (value) => value === undefined : undefined;
    case 'Gt':
      return comparison(values, (value, bound) => value > bound);
    case 'Lt':
      return comparison(values, (value, bound) => value < bound);
    default:
      return undefined;
  }
}

function comparison(values: readonly string[], holds: (value: bigint, bound: bigint) => boolean): Test | undefined {
  const bound = values.length === 1 ? int64(values[0]) : undefined;
  if (bound === undefined) return undefined;
  return (text) => {
    const value = int64(text);
    return value !== undefined && holds(value, bound);
  };
}

/** As Go's `strconv.ParseInt(text, 10, 64)`, with undefined in place of an error. */
function int64(text = ''): bigint | undefined {
  if (!/^[+-]?\d+$/.test(text)) return undefined;
  const value = BigInt(text);
  return BigInt.asIntN(64, value) === value ? value : undefined;
}

/** The requirement must have exactly one value. A field that nodes do not have is empty. */
function fieldTest({ operator, values }: NodeSelectorRequirement): Test | undefined {
  if (values.length !== 1) return undefined;
  switch (operator) {
    case 'In':
      return (value = '') => value === values[0];
    case 'NotIn':
      return (value = '') => value !== values[0];
    default:
      return undefined;
  }
}
