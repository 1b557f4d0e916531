import { all, any, bind, cel, type Expression } from '../cel/expression.ts';
import { ALLOW_REMOVAL_AFTER, ALLOW_REMOVAL_BEFORE, ALLOW_REMOVAL_CHANGES } from '../conditions/node-update.ts';
import { IS_NODE, REQUESTER_VARIABLES } from '../conditions/selection.ts';
import { ALLOW_REMOVAL_ANNOTATION } from '../judge/allow-removal.ts';
import type { NativeManifest, ResourceRule } from './native-policy.ts';

/** Name of the ValidatingAdmissionPolicy and of its binding. Not below taintkeeper.dev, like those that the leader writes. */
export const NODE_ANNOTATIONS_POLICY = 'taintkeeper-node-annotations';

/** The field is absent if the request is for the Node itself, and reading it then would be an error. */
const BY_STATUS: Expression = all([cel(2)`has(request.subResource)`, cel(3)`request.subResource == "status"`]);

const RULES: readonly (ResourceRule & { readonly scope: '*' })[] = [
  { apiGroups: [''], apiVersions: ['v1'], resources: ['nodes', 'nodes/status'], operations: ['UPDATE'], scope: '*' },
];

/**
 * The ValidatingAdmissionPolicy and its binding that deny changes of the annotation `allow-removal` by kubelets and through `nodes/status`.
 * taintkeeper itself never writes `nodes/status`, and never patches an update by a kubelet, so each such change is the requester's own.
 *
 * Its failure policy is Ignore: with Fail, an expression that some API server could not evaluate would stop every heartbeat. The conditions
 * are total, so a requester cannot make them fail.
 */
export function nodeAnnotationsManifests(): NativeManifest[] {
  const metadata = { name: NODE_ANNOTATIONS_POLICY };
  const spec = {
    failurePolicy: 'Ignore',
    // With the API server's defaults written out, because the constraints are one atomic field. A manager that applied less would own another value,
    // and the next one that applies the same manifest would get a conflict.
    matchConstraints: { matchPolicy: 'Equivalent', namespaceSelector: {}, objectSelector: {}, resourceRules: RULES },
    matchConditions: [
      {
        name: 'by-status-or-kubelet',
        expression: bind(REQUESTER_VARIABLES, any([BY_STATUS, IS_NODE])).text,
      },
      {
        name: 'changes-allow-removal',
        expression: bind([ALLOW_REMOVAL_BEFORE, ALLOW_REMOVAL_AFTER], ALLOW_REMOVAL_CHANGES).text,
      },
    ],
    // The API server evaluates this only if both conditions are true.
    validations: [
      {
        expression: 'false',
        messageExpression:
          `"node " + object.metadata.name + ": changing annotation ${ALLOW_REMOVAL_ANNOTATION} ` +
          'through nodes/status or as a kubelet is not allowed. ' +
          `To announce the removal of a taint: kubectl annotate --overwrite node " + object.metadata.name + " ${ALLOW_REMOVAL_ANNOTATION}=KEY:EFFECT"`,
        reason: 'Forbidden',
      },
    ],
  };
  const apiVersion = 'admissionregistration.k8s.io/v1';
  return [
    { apiVersion, kind: 'ValidatingAdmissionPolicy', metadata, spec },
    {
      apiVersion,
      kind: 'ValidatingAdmissionPolicyBinding',
      metadata,
      spec: { policyName: NODE_ANNOTATIONS_POLICY, validationActions: ['Deny'] },
    },
  ];
}
