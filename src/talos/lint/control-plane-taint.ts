import type { SourceDocument } from '../../files/documents.ts';
import { formatTaint } from '../../policy/taint.ts';
import { CONTROL_PLANE_TAINT } from '../control-plane-taint.ts';
import { kindOf } from '../tree.ts';
import type { Finding, LintSubject, Rule } from './finding.ts';

export const CONTROL_PLANE: Rule = {
  id: 'control-plane-taint',
  about:
    'Control-plane nodes whose taint is not what `allowSchedulingOnControlPlanes` says: a KubeNodeConfig without it (the document says all there is, Talos adds nothing), or a declared one that Talos overrides.',
  check(subject) {
    const { configuration, role } = subject;
    if (role !== 'controlplane') return [];
    const node = configuration.documents.find((document) => kindOf(document) === 'KubeNodeConfig');
    return node ? missing(subject, node) : overridden(subject);
  },
};

function missing({ configuration }: LintSubject, node: SourceDocument): Omit<Finding, 'rule'>[] {
  const { taints, isPatch, allowSchedulingOnControlPlanes } = configuration;
  if (isPatch || allowSchedulingOnControlPlanes?.value) return [];
  if (taints.some(({ value }) => value.key === CONTROL_PLANE_TAINT.key)) return [];
  return [
    {
      document: node,
      path: ['taints'],
      reason: `nothing keeps ordinary pods off this control-plane node: with a KubeNodeConfig, Talos adds no ${CONTROL_PLANE_TAINT.key} taint by itself`,
      fix: `add to its taints: ${CONTROL_PLANE_TAINT.key}: ${CONTROL_PLANE_TAINT.effect}`,
    },
  ];
}

/** Talos writes its own taint over one of the same key in machine.nodeTaints, unless scheduling is allowed. */
function overridden({ configuration }: LintSubject): Omit<Finding, 'rule'>[] {
  const { taints, allowSchedulingOnControlPlanes: allow, isPatch } = configuration;
  return taints.flatMap(({ shape, value, document, path }): Omit<Finding, 'rule'>[] => {
    if (shape !== 'nodeTaints' || value.key !== CONTROL_PLANE_TAINT.key) return [];
    const taint = formatTaint(value);
    if (allow?.value) {
      // This one leaves room for ordinary pods.
      if (value.effect === 'PreferNoSchedule') return [];
      return [
        {
          document: allow.document,
          path: allow.path,
          reason: `ordinary pods are not scheduled here: ${taint} is declared all the same (${document.locate(path)})`,
          fix: 'take the taint out of nodeTaints, or this setting',
        },
      ];
    }
    if (isPatch || taint === formatTaint(CONTROL_PLANE_TAINT)) return [];
    return [
      {
        document,
        path,
        reason: `Talos puts ${formatTaint(CONTROL_PLANE_TAINT)} in place of ${taint}: allowSchedulingOnControlPlanes is not set`,
        fix: 'set cluster.allowSchedulingOnControlPlanes: true and keep this taint, or take it out',
      },
    ];
  });
}
