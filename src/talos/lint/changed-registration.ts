import { formatTaint } from '../../kubernetes/taint.ts';
import { type FoundTaint, sameDeclaration } from '../declared.ts';
import type { MachineConfiguration } from '../machine-configuration.ts';
import { isByKubelet, isHandedOver } from '../refused-taints.ts';
import { kindOf } from '../tree.ts';
import type { LintSubject, Rule, RuleFinding } from './finding.ts';

export const CHANGED_REGISTRATION: Rule = {
  id: 'changed-registration',
  severity: 'no-effect',
  about:
    'With `--since`: taints that differ from those that the node registered with, and that only registration sets. A kubelet reads `register-with-taints` and `registerWithTaints` once, and NodeRestriction refuses a worker every later change.',
  check(subject) {
    const { configuration, registered } = subject;
    if (!registered) return [];
    const only = (found: FoundTaint) => onlyAtRegistration(subject, found);
    const before = registered.taints.filter(only);
    const after = configuration.taints.filter(only);
    const isIn = (list: readonly FoundTaint[], taint: FoundTaint) =>
      list.some((other) => sameDeclaration(other, taint));
    return [
      ...after.filter((taint) => !isIn(before, taint)).map((taint) => added(taint, before)),
      // A patch does not contain unchanged fields.
      ...(configuration.isPatch
        ? []
        : before.filter((taint) => !after.some(({ value }) => value.key === taint.value.key))
      ).map((taint) => removed(taint, configuration)),
    ];
  },
};

/** Talos can always change the taints of control-plane nodes. Up to 1.13, worker-taint reports those of workers. */
function onlyAtRegistration(subject: LintSubject, found: FoundTaint): boolean {
  if (isByKubelet(found)) return true;
  return subject.role === 'worker' && isHandedOver(found, subject.version);
}

const FIX = 'apply the policy that "taintkeeper talos policies" makes of this file, or register the node anew';

function added({ document, path, value }: FoundTaint, before: readonly FoundTaint[]): RuleFinding {
  const earlier = before.find((other) => other.value.key === value.key);
  return {
    document,
    path,
    reason: earlier
      ? `the node registered with ${formatTaint(earlier.value)} and keeps it: taints for registration are not read again`
      : `the node is registered without ${formatTaint(value)}: taints for registration are not read again`,
    fix: earlier ? `${FIX}; "kubectl taint" removes the one that it has` : FIX,
  };
}

function removed(taint: FoundTaint, { documents, source }: MachineConfiguration): RuleFinding {
  const place = documents.find((document) => kindOf(document) === kindOf(taint.document)) ?? documents[0];
  return {
    document: place ?? { value: null, locate: () => source, scalar: () => undefined },
    path: taint.path,
    reason: `${formatTaint(taint.value)}, with which the node registered (${taint.document.locate(taint.path)}), is no longer declared here and stays on the node`,
    fix: '"kubectl taint" removes it from the node',
  };
}
