import { readFileSync } from 'node:fs';
import { parse, stringify } from 'yaml';
import type { Workspace } from '../../control-plane/workspace.ts';

/** A context of a talosconfig. The credentials are PEM in Base64. */
export interface Context {
  readonly endpoints?: readonly string[];
  readonly nodes?: readonly string[];
  readonly ca?: string;
  readonly crt?: string;
  readonly key?: string;
}

/** The current context of a talosconfig. */
export function readContext(file: string): Context {
  const { context, contexts } = parse(readFileSync(file, 'utf8')) as {
    context: string;
    contexts: Record<string, Context>;
  };
  return contexts[context] ?? {};
}

/** Writes a talosconfig with one context. Fields that are undefined are left out. */
export function writeTalosconfig(workspace: Workspace, name: string, context: Context): string {
  return workspace.write(`talosconfig-${name}`, stringify({ context: 'one', contexts: { one: context } }));
}
