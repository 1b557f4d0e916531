import { existsSync } from 'node:fs';
import { join } from 'node:path';
import { cacheFolder, type GoModule } from './go-modules.ts';
import { whyNotBuilt } from './not-built.ts';

/** Reads the workflows of .github. */
export const ACTIONLINT: GoModule = {
  folder: join(import.meta.dirname, 'actionlint'),
  packages: { actionlint: 'github.com/rhysd/actionlint/cmd/actionlint' },
  linkerVariables: () => ({}),
};

export const actionlintPath = (): string => join(cacheFolder(ACTIONLINT), 'actionlint');

/** Why there is no actionlint, if so. */
export function obstacleToActionlint(): string | undefined {
  return existsSync(actionlintPath()) ? undefined : whyNotBuilt(ACTIONLINT, 'actionlint');
}
