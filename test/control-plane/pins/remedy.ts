import { gt } from 'semver';
import { type GoMod, requiredVersion } from './go-mod.ts';
import type { Missing } from './missing.ts';

/**
 * What helps against a missing version. To require another one does where go.mod asks for it, or some other module does.
 * Where go.mod asks for a later one already, Go reads the missing one's go.mod all the same, since an old module
 * names it: it is to be excluded.
 */
export function remedyFor({ module, version }: Missing, goMod: GoMod): 'require' | 'exclude' {
  const required = requiredVersion(goMod, module);
  return required !== undefined && gt(required, version) ? 'exclude' : 'require';
}
