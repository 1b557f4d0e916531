import { kindOf, textAt } from '../document-values.ts';
import type { MachineConfiguration } from '../machine-configuration.ts';
import type { LintSubject } from './finding.ts';

type InstalledVersion = Partial<Pick<LintSubject, 'version' | 'patch'>>;

/** The minor version that `machine.install` or an UnattendedInstallConfig installs: `…/installer:v1.13.2`. */
export function installedVersion({ documents }: MachineConfiguration): InstalledVersion {
  for (const document of documents) {
    const path = kindOf(document) === 'UnattendedInstallConfig' ? ['installer'] : ['machine', 'install'];
    const image = textAt(document, [...path, 'image']);
    const [, minor, patch] = /:v1\.(\d+)\.(\d+)/.exec(image ?? '') ?? [];
    if (minor !== undefined) return { version: Number(minor), patch: Number(patch) };
  }
  return {};
}
