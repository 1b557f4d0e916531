import { RULES } from '../src/talos/lint/lint.ts';

/** The reference page of the rules of `taintkeeper talos lint`. */
export function talosLintPage(): string {
  return [
    '# What `taintkeeper talos lint` finds',
    '',
    'Each finding names its rule. The role of the machine comes from `machine.type`, and for patches from `--role`. The version of Talos comes from',
    '`--talos-version`, or else from the tag of `machine.install.image`. Without a version, the command reports what',
    'holds for all versions that have the fields, and also',
    '',
    '- taints of a worker in `machine.nodeTaints`, which have no effect up to Talos 1.13;',
    '- `persist: false`, which Talos refuses since 1.6;',
    '- `cluster.etcd` of a worker, which Talos refuses since 1.7.',
    '',
    'The severity is that of most of its findings: `refused` by Talos or a program that it starts, of `no-effect`, or `deprecated`.',
    "A flag or field that is refused is `refused` whatever the rule's own severity.",
    '',
    '| rule | severity | what it is about |',
    '| --- | --- | --- |',
    ...RULES.map(({ id, severity, about }) => `| \`${id}\` | \`${severity}\` | ${about.replaceAll('|', '\\|')} |`),
    '',
  ].join('\n');
}
