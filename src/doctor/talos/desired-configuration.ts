import { type Change, changeOf, NEVER_REBOOTS_SINCE } from '../../talos/apply-mode.ts';
import { lint } from '../../talos/lint/lint.ts';
import { type RoleChange, roleChange } from '../../talos/role-change.ts';
import { FIRST_VERSION, LAST_VERSION } from '../../talos/versions.ts';
import { atMost } from '../../text/counts.ts';
import { shellWord } from '../../text/printable.ts';
import { consequence, essentialSkip, finding } from '../check.ts';
import { hostPort } from '../facts/dial.ts';
import type { NodeAnswer } from './ask-apid.ts';
import type { CallFault } from './call-result.ts';
import { namesOf } from './node-versions.ts';
import { firstConfiguration } from './remedies.ts';
import type { DesiredConfiguration, TalosCheck, TalosFinding } from './talos-facts.ts';

/** The checks whether each version of Talos accepts the configuration, and what applying it to each node needs. */
export function configurationChecks(desired: DesiredConfiguration, answers: readonly NodeAnswer[]): TalosCheck[] {
  const { source } = desired.configuration;
  if (answers.length === 0) {
    const run = () => essentialSkip('no node can be asked for its version and configuration');
    return [{ name: `configuration ${source}`, printed: source, area: 'configuration', dependsOn: [], run }];
  }
  return [...Map.groupBy(answers, minorOf)].flatMap(([minor, alike]) => {
    const onVersion: TalosCheck[] =
      minor === undefined
        ? []
        : [
            {
              name: `${source} for 1.${minor}`,
              printed: source,
              area: 'configuration',
              dependsOn: [],
              run: () => checkFile(desired, minor, alike),
            },
          ];
    const onNodes = alike.map((answer): TalosCheck => {
      const { name, at } = answer;
      return {
        name: `${source} on ${name} by ${hostPort(at.host, at.port)}`,
        printed: `${source} on ${name}`,
        area: 'configuration',
        dependsOn: onVersion.map((check) => check.name),
        run: () => consequence(checkChange(desired, minor, answer), () => `it is refused: see ${source}`),
      };
    });
    return [...onVersion, ...onNodes];
  });
}

/** The minor version of Talos 1. Undefined if the node did not say, or is older than {@link FIRST_VERSION}. */
function minorOf({ version }: NodeAnswer): number | undefined {
  const minor = version.ok ? /^v?1\.(\d+)\./.exec(version.value)?.[1] : undefined;
  return minor !== undefined && Number(minor) >= FIRST_VERSION ? Number(minor) : undefined;
}

/** The patch version of the oldest node: the file has to fit every node. */
function lowestPatch(alike: readonly NodeAnswer[]): number {
  return Math.min(...alike.map(({ version }) => Number(version.ok ? /^v?1\.\d+\.(\d+)/.exec(version.value)?.[1] : 0)));
}

const MAX_REFUSALS = 3;

/** Checks what nodes of one version refuse in the file. */
function checkFile(
  { configuration, file, disabled }: DesiredConfiguration,
  minor: number,
  alike: readonly NodeAnswer[],
): readonly TalosFinding[] {
  const runs = `${namesOf(alike)} ${alike.length === 1 ? 'runs' : 'run'} Talos 1.${minor}`;
  const live = alike.map((answer) => answer.configuration).find((answer) => answer?.ok);
  const role = live?.ok ? live.value.role : undefined;
  const refused = lint(configuration, { version: minor, patch: lowestPatch(alike), role, disabled }).filter(
    ({ severity }) => severity === 'refused',
  );
  if (refused.length > 0) {
    const rest = refused.length - MAX_REFUSALS;
    const all = `taintkeeper talos lint ${shellWord(file)} --talos-version 1.${Math.min(minor, LAST_VERSION)}`;
    return refused.slice(0, MAX_REFUSALS).map(({ document, path, reason, fix }, index) => {
      const more = rest > 0 && index === MAX_REFUSALS - 1 ? `; for ${rest} more: ${all}` : '';
      return {
        name: document.locate(path),
        state: 'problem',
        evidence: `${reason} (${runs})`,
        remedy: `${fix}${more}`,
      };
    });
  }
  return minor > LAST_VERSION
    ? [finding('note', `${runs}, newer than 1.${LAST_VERSION}: taintkeeper does not know its new fields`)]
    : [finding('ok', `${runs}, which supports every field in it`)];
}

const WHY: Readonly<Record<CallFault, string>> = {
  denied: 'this role may not read the configuration, which needs os:admin',
  'not forwarded': 'its endpoint passes no calls on',
  unimplemented: 'it does not know the call',
  absent: 'it has no configuration',
  silent: 'there is no answer in time',
  unavailable: 'it does not answer',
  interrupted: 'it is unavailable, and its answer breaks off',
  'too large': 'the answer is larger than any configuration',
  garbled: 'the answer cannot be read',
};

/** Checks what applying the file to one node needs. */
function checkChange(
  { configuration: desired, file }: DesiredConfiguration,
  minor: number | undefined,
  answer: NodeAnswer,
): TalosFinding {
  const { name, version, configuration: live, mayBeInMaintenance } = answer;
  const apply = `talosctl apply-config --nodes ${shellWord(name)} --file ${shellWord(file)}`;
  if (!version.ok) return essentialSkip(`the version of ${name} is not known`);
  if (mayBeInMaintenance) return finding('ok', 'there is no configuration yet', firstConfiguration(name, file));
  if (minor === undefined)
    return essentialSkip(
      `taintkeeper does not know Talos ${version.value}: it knows 1.${FIRST_VERSION} to 1.${LAST_VERSION}`,
    );
  if (live === undefined || !live.ok) {
    const { fault, message } = live ?? { fault: 'absent', message: 'not asked' };
    const remedy = fault === 'denied' ? `as os:admin: ${apply} --dry-run` : undefined;
    return essentialSkip(`what applying it needs is not known: ${WHY[fault]} (${message})`, remedy);
  }
  if (desired.isPatch)
    return essentialSkip(
      'it is a patch, not a whole configuration: only talosctl knows the result',
      `talosctl patch machineconfig --nodes ${shellWord(name)} --patch @${shellWord(file)} --dry-run`,
    );
  const change = roleChange(live.value, desired, minor);
  if (change) return refusedRole(name, change);
  return modeOf(apply, name, minor, changeOf(live.value.documents, desired.documents, minor));
}

function refusedRole(node: string, { from, to, refusal }: RoleChange): TalosFinding {
  const why =
    refusal === undefined
      ? 'Talos does not convert a machine: the state of its earlier role stays on the disk, and the machine may no longer be reachable'
      : `Talos refuses it: ${refusal}`;
  return finding(
    'problem',
    `machine.type changes from ${from} to ${to}. ${why}`,
    `apply a configuration of type ${from}; to give the machine another role, erase it first (talosctl reset --nodes ${shellWord(node)}), and then apply this one`,
  );
}

function modeOf(apply: string, node: string, minor: number, { fields, kinds, rebooting, late }: Change): TalosFinding {
  const changed = [...fields, ...kinds];
  if (changed.length === 0) return finding('ok', 'it equals the configuration in force: nothing to apply');
  if (rebooting.length > 0)
    return finding(
      'note',
      `Talos 1.${minor} reboots for ${listed(rebooting)}: --mode=auto does so at once, staged waits for the next reboot, no-reboot and try are refused`,
      `${apply} --mode=staged`,
    );
  const modes =
    minor >= NEVER_REBOOTS_SINCE ? '--mode=auto, no-reboot, try or staged; reboot is refused' : 'any --mode';
  const what = `it changes ${listed(changed)}, without a reboot (${modes})`;
  if (late.length === 0) return finding('note', what, apply);
  const effect = `changes of ${listed(late)} may take effect only at the next reboot`;
  return finding('note', `${what}; ${effect}`, `${apply} && talosctl reboot --nodes ${shellWord(node)}`);
}

function listed(names: readonly string[]): string {
  return atMost(6, names).join(', ');
}
