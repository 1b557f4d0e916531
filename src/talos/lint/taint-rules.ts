import { stringify } from 'yaml';
import { KUBECTL_YAML } from '../../files/documents.ts';
import { formatTaint, sameTaint } from '../../kubernetes/taint.ts';
import { type FileTaint, sameDeclaration } from '../file-taints.ts';
import { CONTROL_PLANE_TAINT } from '../node-declaration.ts';
import { isByKubelet, isHandedOver, refusedTaints } from '../refused-taints.ts';
import { booleanAt, kindOf } from '../tree.ts';
import { MULTI_DOCUMENT_VERSION, surelyBefore, surelySince } from '../versions.ts';
import type { LintSubject, Rule, RuleFinding } from './finding.ts';

export const WORKER_TAINT: Rule = {
  id: 'worker-taint',
  severity: 'no-effect',
  about:
    'Taints that Talos sets on a worker after it registered: NodeRestriction refuses the whole update. Up to Talos 1.13 that is every taint in `machine.nodeTaints` that the kubelet does not register with; since 1.14 those that `register-with-taints` keeps out of its hands.',
  check(subject) {
    const { configuration, role, version } = subject;
    // Earlier versions have no nodeTaints: field-version reports that.
    if (role !== 'worker' || surelyBefore(version, NODE_TAINTS_VERSION)) return [];
    return refusedTaints(configuration, version).map((taint) =>
      isHandedOver(taint, version) ? keptBack(taint) : refused(subject, taint),
    );
  },
};

const NODE_TAINTS_VERSION = 6;

function keptBack({ document, path }: FileTaint): RuleFinding {
  return {
    document,
    path,
    reason:
      'register-with-taints in extraArgs keeps Talos from handing this taint to the kubelet, and after registration NodeRestriction refuses it; labels and annotations of the same update are lost with it',
    fix: 'declare all taints here, and take register-with-taints out of extraArgs',
  };
}

function refused({ version }: LintSubject, { document, path, value }: FileTaint): RuleFinding {
  const { key, effect } = value;
  const item = [
    `key: ${key}`,
    ...(value.value === '' ? [] : [`value: ${stringify(value.value, KUBECTL_YAML).trim()}`]),
    `effect: ${effect}`,
  ].join(', ');
  const versions = version === undefined ? 'up to Talos 1.13' : `Talos 1.${version}`;
  return {
    document,
    path,
    reason: `${versions}: a worker sets ${formatTaint(value)} as its kubelet, after it registered, and NodeRestriction refuses that; labels and annotations of the same update are lost with it`,
    fix: `register with it: machine.kubelet.extraConfig.registerWithTaints: [{ ${item} }]; for nodes that are registered, apply the policy that "taintkeeper talos policies" makes of this file`,
  };
}

export const CONTROL_PLANE_TAINTS: Rule = {
  id: 'control-plane-taint',
  severity: 'no-effect',
  about:
    "A taint in `machine.nodeTaints` with the key of a control plane's own, where it and `allowSchedulingOnControlPlanes` say different things: ordinary pods stay away all the same, or Talos, since 1.14, puts its own in place of it.",
  check({ configuration: { taints, allowSchedulingOnControlPlanes: allow, isPatch }, role, version }) {
    if (role !== 'controlplane' || surelyBefore(version, NODE_TAINTS_VERSION)) return [];
    return taints.flatMap(({ shape, value, document, path }): RuleFinding[] => {
      if (shape !== 'nodeTaints' || value.key !== CONTROL_PLANE_TAINT.key) return [];
      const taint = formatTaint(value);
      if (allow?.value) {
        // This configuration allows ordinary pods.
        if (value.effect === 'PreferNoSchedule') return [];
        const at = document.locate(path);
        const reason = `ordinary pods are not scheduled here: ${taint} is declared all the same (${at})`;
        return [{ document: allow.document, path: allow.path, reason, fix: 'take the taint out of nodeTaints' }];
      }
      // Up to 1.13 it is the reverse (NodeTaintSpecController): the declared taint replaces Talos' own.
      if (isPatch || taint === formatTaint(CONTROL_PLANE_TAINT)) return [];
      if (!surelySince(version, MULTI_DOCUMENT_VERSION)) return [];
      const reason = `Talos 1.${version} puts ${formatTaint(CONTROL_PLANE_TAINT)} in place of ${taint}: allowSchedulingOnControlPlanes is not set`;
      const keep = 'set cluster.allowSchedulingOnControlPlanes: true and keep this taint, or take it out';
      return [{ document, path, reason, fix: value.effect === 'PreferNoSchedule' ? keep : 'take it out' }];
    });
  },
};

export const CONTROL_PLANE_LABEL: Rule = {
  id: 'control-plane-label',
  severity: 'no-effect',
  about:
    "A KubeNodeConfig of a control plane without its role's label: the document says all there is, and Talos adds neither label nor taint. Without the taint alone, ordinary pods may run there, which is a choice.",
  check({ configuration: { documents, labels, taints, isPatch }, role }) {
    if (role !== 'controlplane' || isPatch) return [];
    const { key, effect } = CONTROL_PLANE_TAINT;
    return documents.flatMap((document): RuleFinding[] => {
      if (kindOf(document) !== 'KubeNodeConfig' || booleanAt(document, ['skipNodeRegistration'])) return [];
      if (labels.some((label) => label.document === document && label.value.key === key)) return [];
      const isTainted = taints.some((taint) => taint.document === document && taint.value.key === key);
      const hint = isTainted ? '' : `, and to its taints ${key}: ${effect}, unless ordinary pods are to run here`;
      return [
        {
          document,
          path: ['labels'],
          reason: `nothing marks this node as a control plane: beside a KubeNodeConfig, Talos adds no ${key} by itself, neither label nor taint`,
          fix: `add to its labels ${key}: ""${hint}`,
        },
      ];
    });
  },
};

export const CONTRADICTING_TAINT: Rule = {
  id: 'contradicting-taint',
  severity: 'no-effect',
  about:
    'Two declarations of taints of which one silently wins: Talos leaves a taint alone that has its key and that it did not set (`talos.dev/owned-taints`); the flag `register-with-taints` replaces the list `registerWithTaints`, and the last flag replaces those before it.',
  check: ({ configuration: { taints } }) => [...overruledByKubelet(taints), ...replacedByFlag(taints)],
};

export const DUPLICATE_TAINT: Rule = {
  id: 'duplicate-taint',
  severity: 'refused',
  about:
    'Two taints with one key and effect in `registerWithTaints` or in `register-with-taints`: a node has only one of these, so the API server refuses the node, or the kubelet the flag.',
  check({ configuration: { taints } }) {
    const lists = Map.groupBy(taints.filter(isByKubelet), ({ document, path, shape }) =>
      [document.locate([]), shape, ...(shape === 'registerWithTaints' ? path.slice(0, -1) : path)].join('\0'),
    );
    // A flag takes the place of the list.
    const hasFlag = taints.some(({ shape }) => shape === 'register-with-taints');
    return [...lists.values()].flatMap((list) =>
      list.flatMap((taint, index): RuleFinding[] => {
        const first = list.slice(0, index).find((other) => sameTaint(other.value, taint.value));
        const byFlag = taint.shape === 'register-with-taints';
        if (!first || (hasFlag && !byFlag)) return [];
        const { document, path, value } = taint;
        const both = `${formatTaint(first.value)} and ${formatTaint(value)} have one key and effect`;
        const where = byFlag ? '' : ` (the first: ${first.document.locate(first.path)})`;
        return [
          {
            document,
            path,
            reason: `${both}${where}: ${byFlag ? 'the kubelet does not start' : 'the node cannot register'}`,
            fix: 'keep one of the two',
          },
        ];
      }),
    );
  },
};

/** Talos' taint, if the kubelet registers with another taint of that key. */
function overruledByKubelet(taints: readonly FileTaint[]): RuleFinding[] {
  const byKey = Map.groupBy(taints.filter(isByKubelet), ({ value }) => value.key);
  return taints.flatMap((taint) => {
    if (isByKubelet(taint)) return [];
    const conflictingTaints = byKey.get(taint.value.key) ?? [];
    const [conflicting] = conflictingTaints;
    if (!conflicting || conflictingTaints.some((other) => sameDeclaration(other, taint))) return [];
    const { document, path, value } = taint;
    return [
      {
        document,
        path,
        reason: `the kubelet registers with ${formatTaint(conflicting.value)} (${conflicting.document.locate(conflicting.path)}), and Talos leaves a taint of that key alone: ${formatTaint(value)} is never set`,
        fix: 'declare the taint once, or the same in both places',
      },
    ];
  });
}

function replacedByFlag(taints: readonly FileTaint[]): RuleFinding[] {
  const flags = taints.filter(({ shape }) => shape === 'register-with-taints');
  const last = flags.at(-1);
  if (!last) return [];
  const inForce = Map.groupBy(
    flags.filter((flag) => samePlace(flag, last)),
    ({ value }) => value.key,
  );
  const replaced = taints.filter(
    (taint) =>
      (taint.shape === 'registerWithTaints' || (taint.shape === last.shape && !samePlace(taint, last))) &&
      !inForce.get(taint.value.key)?.some((flag) => sameDeclaration(flag, taint)),
  );
  return replaced.map(({ document, path, value }) => ({
    document,
    path,
    reason: `the kubelet takes register-with-taints (${last.document.locate(last.path)}) in place of this: ${formatTaint(value)} is not set`,
    fix: 'declare all taints in one place, best in registerWithTaints: the flag is deprecated',
  }));
}

function samePlace(a: FileTaint, b: FileTaint): boolean {
  return a.document === b.document && a.path.join('\0') === b.path.join('\0');
}
