import { type Change, changeOf, NEVER_REBOOTS_SINCE } from '../../talos/apply-mode.ts';
import { lint } from '../../talos/lint/lint.ts';
import type { MachineConfiguration } from '../../talos/machine-configuration.ts';
import { type RoleChange, roleChange } from '../../talos/role-change.ts';
import { FIRST_VERSION, LAST_VERSION } from '../../talos/versions.ts';
import { atMost } from '../../text/counts.ts';
import { shellWord } from '../../text/printable.ts';
import { type CheckResult, named, type UnnamedResult } from '../check.ts';
import { hostPort } from '../facts/dial.ts';
import type { NodeAnswer } from './ask-apid.ts';
import type { CallFault } from './called.ts';
import { firstConfiguration } from './remedies.ts';

/** A configuration to apply. */
export interface DesiredConfiguration {
  /** The file, as commands name it. */
  readonly file: string;
  readonly configuration: MachineConfiguration;
  /** Rules of `talos lint` that the file switches off. */
  readonly disabled: readonly string[];
}

/** Checks the version of each node, whether the node accepts the configuration, and what applying it needs. */
export function checkTalosNodes(
  answers: readonly NodeAnswer[],
  desired: DesiredConfiguration | undefined,
): CheckResult[] {
  const results = [...answers.map(checkVersion), ...checkAgreement(answers)];
  if (desired === undefined) return results;
  const source = desired.configuration.source;
  if (answers.length === 0)
    return [...results, named(source, unseen('no node can be asked for its version and configuration'))];
  const versions = Map.groupBy(answers, (answer) => minorOf(answer));
  return [
    ...results,
    ...[...versions].flatMap(([minor, alike]) => {
      const refusals = minor === undefined ? [] : checkFile(desired, minor, alike);
      return [
        ...refusals,
        ...alike.map((answer) =>
          named(
            `${source} on ${answer.name}`,
            refusals.some(({ state }) => state === 'problem')
              ? {
                  area: 'configuration',
                  state: 'skipped',
                  evidence: `it is refused: see ${source}`,
                }
              : checkChange(desired, minor, answer),
          ),
        ),
      ];
    }),
  ];
}

function unseen(evidence: string, remedy?: string): UnnamedResult {
  return {
    area: 'configuration',
    state: 'skipped',
    evidence,
    ...(remedy === undefined ? {} : { remedy }),
    essential: true,
  };
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

function checkVersion({ name, at, isForwarded, mayBeInMaintenance, version }: NodeAnswer): CheckResult {
  const via = isForwarded ? ` through ${at.host}` : '';
  if (version.ok) {
    const maintenance = mayBeInMaintenance ? ', in maintenance mode' : '';
    return {
      area: 'configuration',
      name: 'version',
      state: 'ok',
      evidence: `${name} runs Talos ${version.value}${via}${maintenance}`,
    };
  }
  const { fault, message } = version;
  if (mayBeInMaintenance) {
    const evidence = `${name} does not say that it is Talos in maintenance mode (${message})`;
    return { area: 'configuration', name: 'version', state: 'skipped', evidence };
  }
  switch (fault) {
    case 'denied':
      return named(
        'version',
        unseen(
          `${name}: this role may not ask for the version (${message})`,
          'as an administrator: talosctl config new --roles os:reader NEW-FILE',
        ),
      );
    case 'not forwarded':
      return named(
        'version',
        unseen(`${name}: ${at.host} passes no calls on (${message}): see ${hostPort(at.host, at.port)}`),
      );
    case 'interrupted':
      return {
        area: 'network',
        name,
        state: 'problem',
        evidence: `it is unavailable${via}: its answer breaks off (${message}), at the second try as well`,
        remedy: 'try again later. If that does not help, see the console of the machine',
      };
    case 'silent':
    case 'unavailable':
      return {
        area: 'network',
        name,
        state: 'problem',
        evidence: isForwarded
          ? `${at.host} does not reach it (${message}): it is off, or port 50000 is closed between the two`
          : `Talos' API accepts the connection and does not answer (${message}): machined does not run, or hangs`,
        remedy: 'see the console of the machine',
      };
    case 'unimplemented':
    case 'absent':
      return {
        area: 'configuration',
        name,
        state: 'problem',
        evidence: `it does not know the call for its version (${message}): this is another service than apid, such as trustd`,
        remedy: 'use port 50000, that of apid',
      };
    case 'too large':
    case 'garbled':
      return { area: 'network', name, state: 'problem', evidence: `its answer is not one of Talos' API (${message})` };
  }
}

function checkAgreement(answers: readonly NodeAnswer[]): CheckResult[] {
  const tags = Map.groupBy(
    answers.filter(({ version }) => version.ok),
    ({ version }) => (version.ok ? version.value : ''),
  );
  if (tags.size < 2) return [];
  const each = [...tags].map(([tag, nodes]) => `${tag} on ${namesOf(nodes)}`);
  return [
    {
      area: 'configuration',
      name: 'version',
      state: 'note',
      evidence: `not all nodes run the same Talos: ${each.join(', ')}`,
    },
  ];
}

function namesOf(answers: readonly NodeAnswer[]): string {
  return atMost(
    3,
    answers.map(({ name }) => name),
  ).join(', ');
}

const MAX_REFUSALS = 3;

/** Checks what nodes of one version refuse in the file. */
function checkFile(
  { configuration, file, disabled }: DesiredConfiguration,
  minor: number,
  alike: readonly NodeAnswer[],
): CheckResult[] {
  const { source } = configuration;
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
        area: 'configuration',
        name: document.locate(path),
        state: 'problem',
        evidence: `${reason} (${runs})`,
        remedy: `${fix}${more}`,
      };
    });
  }
  return minor > LAST_VERSION
    ? [
        {
          area: 'configuration',
          name: source,
          state: 'note',
          evidence: `${runs}, newer than 1.${LAST_VERSION}: taintkeeper does not know its new fields`,
        },
      ]
    : [{ area: 'configuration', name: source, state: 'ok', evidence: `${runs}, which supports every field in it` }];
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
): UnnamedResult {
  const { name, version, configuration: live, mayBeInMaintenance } = answer;
  const apply = `talosctl apply-config --nodes ${shellWord(name)} --file ${shellWord(file)}`;
  if (!version.ok) return unseen(`the version of ${name} is not known`);
  if (mayBeInMaintenance)
    return {
      area: 'configuration',
      state: 'ok',
      evidence: 'there is no configuration yet',
      remedy: firstConfiguration(name, file),
    };
  if (minor === undefined)
    return unseen(`taintkeeper does not know Talos ${version.value}: it knows 1.${FIRST_VERSION} to 1.${LAST_VERSION}`);
  if (live === undefined || !live.ok) {
    const { fault, message } = live ?? { fault: 'absent', message: 'not asked' };
    const remedy = fault === 'denied' ? `as os:admin: ${apply} --dry-run` : undefined;
    return unseen(`what applying it needs is not known: ${WHY[fault]} (${message})`, remedy);
  }
  if (desired.isPatch)
    return unseen(
      'it is a patch, not a whole configuration: only talosctl knows the result',
      `talosctl patch machineconfig --nodes ${shellWord(name)} --patch @${shellWord(file)} --dry-run`,
    );
  const change = roleChange(live.value, desired, minor);
  if (change) return refusedRole(name, change);
  return modeOf(apply, name, minor, changeOf(live.value.documents, desired.documents, minor));
}

function refusedRole(node: string, { from, to, refusal }: RoleChange): UnnamedResult {
  const why =
    refusal === undefined
      ? 'Talos does not convert a machine: the state of its earlier role stays on the disk, and the machine may no longer be reachable'
      : `Talos refuses it: ${refusal}`;
  return {
    area: 'configuration',
    state: 'problem',
    evidence: `machine.type changes from ${from} to ${to}. ${why}`,
    remedy: `apply a configuration of type ${from}; to give the machine another role, erase it first (talosctl reset --nodes ${shellWord(node)}), and then apply this one`,
  };
}

function modeOf(apply: string, node: string, minor: number, { fields, kinds, rebooting, late }: Change): UnnamedResult {
  const changed = [...fields, ...kinds];
  if (changed.length === 0)
    return {
      area: 'configuration',
      state: 'ok',
      evidence: 'it equals the configuration in force: nothing to apply',
    };
  if (rebooting.length > 0)
    return {
      area: 'configuration',
      state: 'note',
      evidence: `Talos 1.${minor} reboots for ${listed(rebooting)}: --mode=auto does so at once, staged waits for the next reboot, no-reboot and try are refused`,
      remedy: `${apply} --mode=staged`,
    };
  const modes =
    minor >= NEVER_REBOOTS_SINCE ? '--mode=auto, no-reboot, try or staged; reboot is refused' : 'any --mode';
  const what = `it changes ${listed(changed)}, without a reboot (${modes})`;
  if (late.length === 0) return { area: 'configuration', state: 'note', evidence: what, remedy: apply };
  const effect = `changes of ${listed(late)} may take effect only at the next reboot`;
  return {
    area: 'configuration',
    state: 'note',
    evidence: `${what}; ${effect}`,
    remedy: `${apply} && talosctl reboot --nodes ${shellWord(node)}`,
  };
}

function listed(names: readonly string[]): string {
  return atMost(6, names).join(', ');
}
