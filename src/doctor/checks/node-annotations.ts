import { exactSelector, hasFields } from '../../kubernetes/desired-fields.ts';
import { NODE_ANNOTATIONS_POLICY, nodeAnnotationsManifests } from '../../native/node-annotations.ts';
import { type Finding, finding } from '../check.ts';
import type { Facts } from '../facts.ts';
import { reinstall } from '../installation.ts';

/** Checks that the API server protects the annotation `allow-removal`, which taintkeeper trusts, from users who may write `nodes/status`. */
export function checkNodeAnnotations({
  annotationProtection,
  installation,
}: Pick<Facts, 'annotationProtection' | 'installation'>): Finding {
  if (!annotationProtection.ok) return finding('skipped', annotationProtection.why);
  const [policy, binding] = nodeAnnotationsManifests();
  const whole = exactSelector([]);
  const constraints = { excludeResourceRules: undefined, objectSelector: whole, namespaceSelector: whole };
  const spec = policy?.spec as { readonly matchConstraints: object };
  const desired = [
    { ...spec, paramKind: undefined, matchConstraints: { ...spec.matchConstraints, ...constraints } },
    { ...binding?.spec, paramRef: undefined, matchResources: undefined },
  ];
  const kinds = ['ValidatingAdmissionPolicy', 'ValidatingAdmissionPolicyBinding'];
  const wrong = kinds.flatMap((kind, place) => {
    const found = annotationProtection.value[place];
    if (found === undefined) return [`${kind} ${NODE_ANNOTATIONS_POLICY} not found`];
    return hasFields(found.spec, desired[place]) ? [] : [`${kind} ${NODE_ANNOTATIONS_POLICY} was changed`];
  });
  if (wrong.length === 0)
    return finding(
      'ok',
      `${NODE_ANNOTATIONS_POLICY} protects the annotation allow-removal from writers of nodes/status`,
    );
  const evidence = `${wrong.join('; ')}: users who may write nodes/status can allow themselves the removal of taints`;
  return finding('problem', evidence, reinstall(installation));
}
