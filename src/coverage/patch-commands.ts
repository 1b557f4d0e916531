import type { Operation } from '../kubernetes/json-patch.ts';
import { TOLERATIONS_POINTER } from '../kubernetes/toleration.ts';
import { shellWord } from '../text/printable.ts';
import { installationPath } from './calico-installation.ts';
import { allTolerations, leftToController, type Need, type Remedies } from './remedies.ts';
import { setAt } from './set-at.ts';
import { type InstalledDaemonSet, managerOf } from './workload.ts';

/** A kubectl command for each DaemonSet. */
export interface PatchCommand {
  readonly daemonSet: InstalledDaemonSet;
  readonly command: string;
  /** The writer whose next change reverts this one; undefined if none is known. */
  readonly revertedBy: string | undefined;
}

/** Commands for running DaemonSets. For an operator's DaemonSet, they change the object that the operator reads. */
export function patchCommands(needs: readonly Need[]): Remedies<PatchCommand> {
  const found = needs.map((need) => ({ need, command: commandFor(need) }));
  return {
    remedies: found.flatMap(({ need: { daemonSet }, command }) =>
      command === undefined
        ? []
        : [{ daemonSet, command, revertedBy: installationPath(daemonSet) ? undefined : managerOf(daemonSet) }],
    ),
    left: found.flatMap(({ need: { daemonSet }, command }) =>
      command === undefined ? leftToController(daemonSet, 'its controller would revert a patch') : [],
    ),
  };
}

function commandFor(need: Need): string | undefined {
  const { namespace, name, controller } = need.daemonSet;
  const inInstallation = installationPath(need.daemonSet);
  if (inInstallation && controller) {
    const patch = {};
    setAt(patch, ['spec', ...inInstallation], allTolerations(need));
    return `kubectl patch installation.operator.tigera.io ${shellWord(controller.name)} --type=merge -p ${shellWord(JSON.stringify(patch))}`;
  }
  if (controller) return undefined;
  const patch = shellWord(JSON.stringify(operationsFor(need)));
  return `kubectl patch -n ${shellWord(namespace)} daemonset ${shellWord(name)} --type=json -p ${patch}`;
}

/** Existing tolerations stay, also later ones: items are added at the end, and a list is created only if there is none. */
function operationsFor({ daemonSet, tolerations }: Need): Operation[] {
  if (daemonSet.tolerations.length > 0)
    return tolerations.map((value) => ({ op: 'add', path: `${TOLERATIONS_POINTER}/-`, value }));
  return [
    { op: 'test', path: TOLERATIONS_POINTER, value: null },
    { op: 'add', path: TOLERATIONS_POINTER, value: tolerations },
  ];
}
