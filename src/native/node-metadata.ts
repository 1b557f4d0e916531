import { all, any, bind, cel, type Expression, not, type Variable } from '../cel/expression.ts';
import {
  ALLOW_REMOVAL_AFTER,
  ALLOW_REMOVAL_BEFORE,
  ALLOW_REMOVAL_CHANGES,
  annotationOf,
  STARTUP_BOOT,
} from '../cel-rules/annotations.ts';
import { IS_NODE, REQUESTER_VARIABLES } from '../cel-rules/selection.ts';
import { ALLOW_REMOVAL_ANNOTATION } from '../judge/allow-removal.ts';
import { STARTUP_BOOT_ANNOTATION } from '../judge/node-boot.ts';
import { manifestsOf, type NativeManifest } from './manifests.ts';
import type { ResourceRule, ValidatingSpec } from './native-policy.ts';

/** Name of the ValidatingAdmissionPolicy and of its binding. Not below taintkeeper.dev, like those that the leader writes. */
export const NODE_METADATA_POLICY = 'taintkeeper-node-metadata';

/** The field is absent if the request is for the Node itself, and reading it then would be an error. */
const BY_STATUS: Expression = all([cel(2)`has(request.subResource)`, cel(3)`request.subResource == "status"`]);

const RULES: readonly ResourceRule[] = [
  { apiGroups: [''], apiVersions: ['v1'], resources: ['nodes', 'nodes/status'], operations: ['UPDATE'], scope: '*' },
  { apiGroups: [''], apiVersions: ['v1'], resources: ['nodes'], operations: ['CREATE'], scope: '*' },
];

const IS_CREATION: Expression = cel(3)`request.operation == "CREATE"`;

function ownersOf(object: 'object' | 'oldObject'): Expression {
  const owners = `${object}.metadata.ownerReferences`;
  return cel(10)`has(${owners}) ? ${owners} : []`;
}

/** A new Node has had no owners. There is no old object then, and reading it would be an error. */
const OWNERS_BEFORE: Variable = {
  name: 'oldOwners',
  definition: cel(1)`${IS_CREATION} ? []\n  : ${ownersOf('oldObject')}`,
};
const OWNERS_AFTER: Variable = { name: 'owners', definition: ownersOf('object') };

/** The API server stores at most 1.5 MiB, which is some 20,000 owners. */
const OWNERS_COST = 20_000;
const SAME_OWNERS: Expression = bind(
  [OWNERS_BEFORE, OWNERS_AFTER],
  cel(OWNERS_COST)`${OWNERS_AFTER} == ${OWNERS_BEFORE}`,
);

/** In the creation of a Node there is no old object, and an annotation of its own is a change. */
const ALLOW_REMOVAL_BEFORE_REQUEST: Variable = {
  ...ALLOW_REMOVAL_BEFORE,
  definition: cel(1)`${IS_CREATION} ? ""\n  : ${ALLOW_REMOVAL_BEFORE.definition}`,
};
const SAME_ANNOTATION: Expression = bind(
  [ALLOW_REMOVAL_BEFORE_REQUEST, ALLOW_REMOVAL_AFTER],
  not(ALLOW_REMOVAL_CHANGES),
);

/** The API server stores at most 1.5 MiB, and compares texts of equal length. */
const TEXT_COST = 160_000;

/** A kubelet that sets its own taints at registration may say for which boot it did. */
const STARTUP_BOOT_BEFORE: Variable = {
  name: 'oldStartupBoot',
  definition: cel(1)`${IS_CREATION} ? ""\n  : ${annotationOf('oldObject', STARTUP_BOOT_ANNOTATION)}`,
};
const SAME_OR_OWN_BOOT: Expression = bind(
  [STARTUP_BOOT_BEFORE, STARTUP_BOOT],
  any([
    cel(TEXT_COST)`${STARTUP_BOOT} == ${STARTUP_BOOT_BEFORE}`,
    all([IS_CREATION, cel(TEXT_COST)`${STARTUP_BOOT} == object.?status.?nodeInfo.?bootID.orValue("")`]),
  ]),
);

function generateNameOf(object: 'object' | 'oldObject'): Expression {
  const name = `${object}.metadata.generateName`;
  return cel(5)`has(${name}) ? ${name} : ""`;
}

const SAME_GENERATE_NAME: Expression = any([
  IS_CREATION,
  cel(TEXT_COST)`(${generateNameOf('object')}) == (${generateNameOf('oldObject')})`,
]);

function swapCapacityOf(object: 'object' | 'oldObject'): Expression {
  const swap = `${object}.?status.?nodeInfo.?swap.?capacity`;
  return cel(10)`${swap}.orValue(1)`;
}

/** One that was there before does not keep a kubelet from its heartbeats. */
const SAME_OR_VALID_SWAP: Expression = any([
  IS_CREATION,
  cel(2)`(${swapCapacityOf('object')}) > 0`,
  cel(2)`(${swapCapacityOf('object')}) == (${swapCapacityOf('oldObject')})`,
]);

/**
 * The ValidatingAdmissionPolicy and its binding that deny, by kubelets and through `nodes/status`:
 * - changes of the annotation `allow-removal`;
 * - changes of the annotation `startup-boot`: a node could keep off the taints that the leader sets after a reboot. When it registers, a kubelet may only
 *   write its own boot ID, which mutation writes as well;
 * - changes of the owners of a Node. The garbage collector deletes a Node whose owners do not exist (CVE-2025-5187): a right to `nodes/status` would
 *   be one to delete nodes, and their taints with them;
 * - changes of `generateName`, and a swap capacity that is not positive. The API server checks both in each update of the Node itself (`ValidateNode` in
 *   k8s.io/kubernetes/pkg/apis/core/validation), and neither in a write of `nodes/status` (`ValidateNodeUpdate` alone). With an invalid one, no taint
 *   could be added or restored.
 *
 * taintkeeper itself never writes `nodes/status`, and never patches an update by a kubelet, so each such change is the requester's own.
 *
 * Its failure policy is Ignore: with Fail, an expression that some API server could not evaluate would stop every heartbeat. The expressions
 * are total, so a requester cannot make them fail.
 */
export function nodeMetadataManifests(): NativeManifest[] {
  const spec: Omit<ValidatingSpec, 'variables' | 'auditAnnotations'> = {
    failurePolicy: 'Ignore',
    // With the API server's defaults written out, because the constraints are one atomic field. A manager that applied less would own another value,
    // and the next one that applies the same manifest would get a conflict.
    matchConstraints: { matchPolicy: 'Equivalent', namespaceSelector: {}, objectSelector: {}, resourceRules: RULES },
    matchConditions: [
      {
        name: 'by-status-or-kubelet',
        expression: bind(REQUESTER_VARIABLES, any([BY_STATUS, IS_NODE])).text,
      },
    ],
    validations: [
      {
        expression: SAME_ANNOTATION.text,
        messageExpression:
          `"node " + object.metadata.name + ": changing annotation ${ALLOW_REMOVAL_ANNOTATION} ` +
          'through nodes/status or as a kubelet is not allowed. ' +
          `To allow the removal of a taint: kubectl annotate node " + object.metadata.name + " ${ALLOW_REMOVAL_ANNOTATION}=KEY:EFFECT"`,
        reason: 'Forbidden',
      },
      {
        expression: SAME_OR_OWN_BOOT.text,
        messageExpression:
          `"node " + object.metadata.name + ": changing annotation ${STARTUP_BOOT_ANNOTATION} through nodes/status or as a kubelet is not allowed, ` +
          'because startup taints would not be set again after a reboot. A kubelet that registers may only write its own boot ID"',
        reason: 'Forbidden',
      },
      {
        expression: SAME_OWNERS.text,
        messageExpression:
          '"node " + object.metadata.name + ": changing ownerReferences through nodes/status or as a kubelet is not allowed, ' +
          'because a Node whose owners do not exist is deleted with its taints. To change them: kubectl edit node " + object.metadata.name',
        reason: 'Forbidden',
      },
      {
        expression: SAME_GENERATE_NAME.text,
        messageExpression:
          '"node " + object.metadata.name + ": changing generateName through nodes/status or as a kubelet is not allowed, ' +
          'because with an invalid one the API server refuses every update of the Node. To change it: kubectl edit node " + object.metadata.name',
        reason: 'Forbidden',
      },
      {
        expression: SAME_OR_VALID_SWAP.text,
        messageExpression:
          '"node " + object.metadata.name + ": a swap capacity in status.nodeInfo must be positive, ' +
          'because with any other the API server refuses every update of the Node"',
        reason: 'Forbidden',
      },
    ],
  };
  return manifestsOf(
    { kind: 'ValidatingAdmissionPolicy', name: NODE_METADATA_POLICY, spec, validationActions: ['Deny'] },
    'v1',
  );
}
