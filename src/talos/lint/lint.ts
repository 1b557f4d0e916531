import { FIRST_VERSION, LAST_VERSION } from '../fields.ts';
import type { MachineConfiguration, MachineRole } from '../machine-configuration.ts';
import { textAt } from '../tree.ts';
import type { Finding, LintSubject } from './finding.ts';
import { RULES } from './rules.ts';

/** What whoever asks knows, and a configuration may not say. */
export interface LintOptions {
  /** Minor version of Talos 1. */
  readonly version?: number | undefined;
  /** The role of patches that do not say theirs. */
  readonly role?: MachineRole | undefined;
  /** The configuration that the nodes registered with. */
  readonly registered?: MachineConfiguration | undefined;
}

/** Everything in the configuration that will not do what its author thinks, in the order of the rules. Empty when all is well. */
export function lint(configuration: MachineConfiguration, options: LintOptions = {}): Finding[] {
  const subject: LintSubject = {
    configuration,
    role: configuration.role ?? options.role,
    version: options.version ?? installedVersion(configuration),
    registered: options.registered,
  };
  return RULES.flatMap((rule) => rule.check(subject).map((finding) => ({ rule: rule.id, ...finding })));
}

/** The minor version that `machine.install.image` installs: `…/installer:v1.13.2`; of those that are known, the nearest one. */
function installedVersion({ documents }: MachineConfiguration): number | undefined {
  for (const document of documents) {
    const image = textAt(document, ['machine', 'install', 'image']);
    const minor = /:v1\.(\d+)\.\d+/.exec(image ?? '')?.[1];
    if (minor !== undefined) return Math.min(Math.max(Number(minor), FIRST_VERSION), LAST_VERSION);
  }
  return undefined;
}
