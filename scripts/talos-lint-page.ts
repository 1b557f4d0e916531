import { RULES } from '../src/talos/lint/lint.ts';

/** The reference page of the rules of `taintkeeper talos lint`. */
export function talosLintPage(): string {
  return [
    '# What `taintkeeper talos lint` finds',
    '',
    'Each finding names its rule. What a configuration is for, it says itself (`machine.type`), or `--role` does for patches; which',
    'Talos reads it, `--talos-version` or the tag of `machine.install.image`. Without a version, only what all versions agree on is',
    'reported.',
    '',
    '| rule | what it is about |',
    '| --- | --- |',
    ...RULES.map(({ id, about }) => `| \`${id}\` | ${about.replaceAll('|', '\\|')} |`),
    '',
  ].join('\n');
}
