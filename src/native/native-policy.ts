import type { LabelSelector } from '../kubernetes/label-selector.ts';
import { DNS_SUBDOMAIN_LENGTH } from '../kubernetes/names.ts';
import type { Policy } from '../policy/policy.ts';
import type { FailurePolicy } from '../policy/taint-policy.ts';

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

/** Something that a policy says and the API server's own language does not. */
export interface NativeLimit {
  /** The field of the policy that says it, for example `spec.removalByAnnotation`. */
  readonly field: string;
  /** What happens instead. */
  readonly message: string;
}

/** What one of our policies becomes. */
export interface NativeTranslation {
  readonly policies: readonly NativePolicy[];
  readonly limits: readonly NativeLimit[];
  /** Why the API server could not evaluate it, and what to do; then there are no policies. */
  readonly refusal?: string;
}

/** The version in which the API server has MutatingAdmissionPolicy: `v1` from Kubernetes 1.36, `v1beta1` from 1.34. */
export type MutatingVersion = 'v1' | 'v1beta1';

export interface NativeManifest {
  readonly apiVersion: string;
  readonly kind: string;
  readonly metadata: { readonly name: string };
  readonly spec: object;
}

/** What the manifests have of a {@link NativePolicy}. */
interface ManifestParts extends Pick<NativePolicy, 'kind' | 'name'> {
  readonly spec: object;
  readonly validationActions?: readonly ValidationAction[];
}

/** The policy and its binding, as they are written to the API server. */
export function manifestsOf(
  { kind, name, spec, validationActions }: ManifestParts,
  mutatingVersion: MutatingVersion,
): NativeManifest[] {
  const version = kind === 'ValidatingAdmissionPolicy' ? 'v1' : mutatingVersion;
  const apiVersion = `admissionregistration.k8s.io/${version}`;
  const actions = validationActions ? { validationActions } : {};
  return [
    { apiVersion, kind, metadata: { name }, spec },
    { apiVersion, kind: `${kind}Binding`, metadata: { name }, spec: { policyName: name, ...actions } },
  ];
}

/**
 * What the name of an object ends with that the API server reads from its own disk
 * (`StaticConfigSuffix` of k8s.io/apiserver/pkg/admission/plugin/manifest).
 */
const STATIC_SUFFIX = '.static.k8s.io';

/** The manifest as the API server takes it from a file: nothing that is stored in the cluster can have its name. */
export function asStaticManifest({ metadata, spec, ...rest }: NativeManifest): NativeManifest {
  const named = 'policyName' in spec ? { ...spec, policyName: `${spec.policyName}${STATIC_SUFFIX}` } : spec;
  return { ...rest, metadata: { name: `${metadata.name}${STATIC_SUFFIX}` }, spec: named };
}

/** Why the manifest cannot become a static one, if it cannot. */
export function tooLongForStatic({ metadata: { name } }: NativeManifest): string | undefined {
  const excess = name.length + STATIC_SUFFIX.length - DNS_SUBDOMAIN_LENGTH;
  return excess > 0
    ? `${name}${STATIC_SUFFIX} is too long for the name of an object, by ${excess} characters`
    : undefined;
}
