import { unlocatedDocument } from '../../files/documents.ts';
import { formatTaint } from '../../kubernetes/taint.ts';
import { kindOf } from '../document-values.ts';
import type { FieldLocation } from '../field-location.ts';
import { type FileTaint, sameDeclaration } from '../file-taints.ts';
import type { MachineConfiguration } from '../machine-configuration.ts';
import { OWNED_TAINTS } from '../owned-annotations.ts';
import { isByKubelet, isHandedOver } from '../refused-taints.ts';
import { MULTI_DOCUMENT_VERSION, surelySince } from '../versions.ts';
import type { LintSubject, Rule, RuleFinding } from './finding.ts';

export const CHANGED_REGISTRATION: Rule = {
  id: 'changed-registration',
  severity: 'no-effect',
  about:
    'With `--since`: taints that differ from those that the node registered with, and that only registration sets. A kubelet reads `register-with-taints` and `registerWithTaints` once, and NodeRestriction refuses a worker every later change.',
  check(subject) {
    const { configuration, registered } = subject;
    if (!registered) return [];
    const only = (taint: FileTaint) => onlyAtRegistration(subject, taint);
    const before = registered.taints.filter(only);
    const after = configuration.taints.filter(only);
    const isIn = (list: readonly FileTaint[], taint: FileTaint) => list.some((other) => sameDeclaration(other, taint));
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

export const OWNED_TAINT: Rule = {
  id: 'owned-taint',
  severity: 'no-effect',
  about:
    'With `--since`, for workers up to Talos 1.13: a taint that `machine.nodeTaints` no longer declares. Where Talos took it over (`talos.dev/owned-taints`), it asks for its removal with every update of the node, and NodeRestriction refuses the whole update.',
  check({ configuration, registered, role, version }) {
    if (!registered || configuration.isPatch || role !== 'worker' || surelySince(version, MULTI_DOCUMENT_VERSION))
      return [];
    const isDeclared = (key: string) =>
      configuration.taints.some((taint) => !isByKubelet(taint) && taint.value.key === key);
    return registered.taints
      .filter(({ shape, value }) => shape === 'nodeTaints' && !isDeclared(value.key))
      .map((taint): RuleFinding => {
        const { key, effect } = taint.value;
        const staying = configuration.taints.some((other) => other.value.key === key);
        const release = `"kubectl annotate node NODE ${OWNED_TAINTS}-" keeps it and releases it from Talos`;
        return {
          ...placeIn(configuration, taint),
          reason: `up to Talos 1.13, a worker cannot remove ${formatTaint(taint.value)} (${taint.document.locate(taint.path)}): where it took it over (${OWNED_TAINTS}), changes of labels and annotations are lost until the taint is removed or released`,
          fix: staying
            ? `on each such node: ${release}`
            : `on each such node: "kubectl taint node NODE ${key}:${effect}-" removes it, or ${release}`,
        };
      });
  },
};

/** Talos can always change the taints of control-plane nodes. Up to 1.13, worker-taint reports those of workers. */
function onlyAtRegistration(subject: LintSubject, taint: FileTaint): boolean {
  if (isByKubelet(taint)) return true;
  return subject.role === 'worker' && isHandedOver(taint, subject.version);
}

const FIX = 'apply the policy that "taintkeeper talos policies" makes of this file, or register the node anew';

function added({ document, path, value }: FileTaint, before: readonly FileTaint[]): RuleFinding {
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

/** Where the declaration of a taint would be, or the nearest part of the file. */
function placeIn({ documents, source }: MachineConfiguration, taint: FileTaint): FieldLocation {
  const place = documents.find((document) => kindOf(document) === kindOf(taint.document)) ?? documents[0];
  return { document: place ?? unlocatedDocument(null, source), path: taint.path };
}

function removed(taint: FileTaint, configuration: MachineConfiguration): RuleFinding {
  return {
    ...placeIn(configuration, taint),
    reason: `${formatTaint(taint.value)}, with which the node registered (${taint.document.locate(taint.path)}), is no longer declared here and stays on the node`,
    fix: '"kubectl taint" removes it from the node',
  };
}
