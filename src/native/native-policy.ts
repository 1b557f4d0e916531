import type { LabelSelector } from '../kubernetes/label-selector.ts';
import type { FailurePolicy } from '../policy/taint-policy.ts';

/** A name for a value. Later expressions, in any field except `matchConditions`, use it as `variables.NAME`. */
export interface NativeVariable {
  readonly name: string;
  readonly expression: string;
}

export interface NativeMatchCondition {
  readonly name: string;
  readonly expression: string;
}

/** Decides about requests without a webhook, as far as policies say it (admissionregistration.k8s.io). */
interface NativeSpec {
  readonly failurePolicy: FailurePolicy;
  readonly matchConstraints: {
    /** The API server's default is Equivalent. */
    readonly matchPolicy?: 'Equivalent';
    readonly resourceRules: readonly ResourceRule[];
    /** Tried against the labels of the object before and after the request: one of the two suffices. Absent: every object. */
    readonly objectSelector?: LabelSelector;
    /** Tried against the labels of the object's namespace; not for nodes. Absent: every namespace. */
    readonly namespaceSelector?: LabelSelector;
  };
  /** All must be true. They cannot use variables. */
  readonly matchConditions: readonly NativeMatchCondition[];
  readonly variables: readonly NativeVariable[];
}

export interface ResourceRule {
  readonly apiGroups: readonly string[];
  readonly apiVersions: readonly string[];
  readonly resources: readonly string[];
  readonly operations: readonly ('CREATE' | 'UPDATE')[];
  /** The API server's default is `*`. */
  readonly scope?: '*';
}

export const NODE_CREATIONS: readonly ResourceRule[] = [
  { apiGroups: [''], apiVersions: ['v1'], resources: ['nodes'], operations: ['CREATE'] },
];

export const NODE_UPDATES: readonly ResourceRule[] = [
  { apiGroups: [''], apiVersions: ['v1'], resources: ['nodes'], operations: ['UPDATE'] },
];

/** `spec` of a ValidatingAdmissionPolicy. */
export interface ValidatingSpec extends NativeSpec {
  readonly validations: readonly {
    readonly expression: string;
    readonly messageExpression: string;
    /** The status with which a request is refused. */
    readonly reason: 'Forbidden';
  }[];
  readonly auditAnnotations: readonly { readonly key: string; readonly valueExpression: string }[];
}

/** `spec` of a MutatingAdmissionPolicy. Each mutation sees the result of those before it. */
export interface MutatingSpec extends NativeSpec {
  readonly reinvocationPolicy: 'Never' | 'IfNeeded';
  readonly mutations: readonly {
    readonly patchType: 'JSONPatch';
    readonly jsonPatch: { readonly expression: string };
  }[];
}

/** What the API server does with a request that does not pass a ValidatingAdmissionPolicy. */
export type ValidationAction = 'Deny' | 'Warn' | 'Audit';

/** A native policy, with the one binding that puts it in force for all objects. */
export type NativePolicy =
  | {
      readonly kind: 'ValidatingAdmissionPolicy';
      /** The name of both objects: see {@link nativeName}. */
      readonly name: string;
      readonly spec: ValidatingSpec;
      readonly validationActions: readonly ValidationAction[];
    }
  | {
      readonly kind: 'MutatingAdmissionPolicy';
      readonly name: string;
      readonly spec: MutatingSpec;
    };
