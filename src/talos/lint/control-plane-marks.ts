import { formatTaint } from '../../kubernetes/taint.ts';
import { booleanAt, kindOf } from '../document-values.ts';
import { CONTROL_PLANE_TAINT } from '../node-declaration.ts';
import { MULTI_DOCUMENT_VERSION, NODE_TAINTS_VERSION, surelyBefore, surelySince } from '../versions.ts';
import type { Rule, RuleFinding } from './finding.ts';

export const CONTRARY_CONTROL_PLANE_TAINT: Rule = {
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
        return [{ document: allow.document, path: allow.path, reason, fix: 'remove the taint from nodeTaints' }];
      }
      // Up to 1.13 it is the reverse (NodeTaintSpecController): the declared taint replaces Talos' own.
      if (isPatch || taint === formatTaint(CONTROL_PLANE_TAINT)) return [];
      if (!surelySince(version, MULTI_DOCUMENT_VERSION)) return [];
      const reason = `Talos 1.${version} puts ${formatTaint(CONTROL_PLANE_TAINT)} in place of ${taint}: allowSchedulingOnControlPlanes is not set`;
      const keep = 'set cluster.allowSchedulingOnControlPlanes: true and keep this taint, or remove it';
      return [{ document, path, reason, fix: value.effect === 'PreferNoSchedule' ? keep : 'remove it' }];
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
