import { stringify } from 'yaml';
import { COMMAND_RIGHTS, type CommandRights, type RoleRule } from '../src/cli/command-rights.ts';

/** The reference page of the rights that a user of the command line needs, from the table of the commands. */
export function cliRightsPage(): string {
  return [
    '# Rights for the command line\n',
    'What a user needs to run a command against a cluster. `doctor` is for cluster administrators: with fewer rights, it skips checks, and the ' +
      'result says how many. `doctor --all` names the right that each one lacks. Commands that are not listed here, and commands with files as their input, need no cluster. ' +
      '`coverage`, `coverage fix`, `coverage migrate` and `explain` also run without some of these rights, and name what they could not read.\n',
    ...Object.entries(COMMAND_RIGHTS).flatMap(([command, rights]) => [`## ${command}\n`, ...tables(rights)]),
  ].join('\n');
}

function tables({ inCluster, inNamespace }: CommandRights): string[] {
  return [
    ...(inCluster === undefined ? [] : ['The rules of a ClusterRole:\n', rulesText(inCluster)]),
    ...(inNamespace === undefined ? [] : ["The rules of a Role in taintkeeper's namespace:\n", rulesText(inNamespace)]),
  ];
}

function rulesText(rules: readonly RoleRule[]): string {
  const lines = rules.map((rule) => `  - ${stringify(rule, { collectionStyle: 'flow', lineWidth: 0 })}`);
  return `\`\`\`yaml\nrules:\n${lines.join('')}\`\`\`\n`;
}
