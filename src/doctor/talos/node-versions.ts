import { APID_PORT } from '../../talos/endpoint.ts';
import type { TalosContext } from '../../talos/talosconfig.ts';
import { atMost } from '../../text/counts.ts';
import { essentialSkip, finding } from '../check.ts';
import { hostPort } from '../facts/dial.ts';
import type { NodeAnswer } from './ask-apid.ts';
import type { TalosFacts, TalosFinding } from './talos-facts.ts';

/** Checks that each node says which Talos it runs, and that all run the same. */
export function checkVersions({ context, answers: { nodes } }: TalosFacts): readonly TalosFinding[] {
  return [...notAsked(context), ...nodes.map(versionOf), ...agreement(nodes)];
}

function notAsked({ otherAuth }: TalosContext): TalosFinding[] {
  if (otherAuth === undefined) return [];
  return [finding('skipped', `the version of Talos is not asked for with ${otherAuth}: talosctl version`)];
}

function versionOf({ name, at, isForwarded, mayBeInMaintenance, version }: NodeAnswer): TalosFinding {
  const via = isForwarded ? ` through ${at.host}` : '';
  if (version.ok) {
    const maintenance = mayBeInMaintenance ? ', in maintenance mode' : '';
    return finding('ok', `${name} runs Talos ${version.value}${via}${maintenance}`);
  }
  const { fault, message } = version;
  if (mayBeInMaintenance) {
    const evidence = `${name} does not say that it is Talos in maintenance mode (${message})`;
    return finding('skipped', evidence);
  }
  switch (fault) {
    case 'denied':
      return essentialSkip(
        `${name}: this role may not ask for the version (${message})`,
        'as an administrator: talosctl config new --roles os:reader NEW-FILE',
      );
    case 'not forwarded':
      return essentialSkip(`${name}: ${at.host} passes no calls on (${message}): see ${hostPort(at.host, at.port)}`);
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
          ? `${at.host} does not reach it (${message}): it is off, or port ${APID_PORT} is closed between the two`
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
        remedy: `use port ${APID_PORT}, that of apid`,
      };
    case 'too large':
    case 'garbled':
      return { area: 'network', name, state: 'problem', evidence: `its answer is not one of Talos' API (${message})` };
  }
}

function agreement(answers: readonly NodeAnswer[]): TalosFinding[] {
  const tags = Map.groupBy(
    answers.filter(({ version }) => version.ok),
    ({ version }) => (version.ok ? version.value : ''),
  );
  if (tags.size < 2) return [];
  const each = [...tags].map(([tag, nodes]) => `${tag} on ${namesOf(nodes)}`);
  return [finding('note', `not all nodes run the same Talos: ${each.join(', ')}`)];
}

/** The names of nodes, at most three. */
export function namesOf(answers: readonly NodeAnswer[]): string {
  return atMost(
    3,
    answers.map(({ name }) => name),
  ).join(', ');
}
