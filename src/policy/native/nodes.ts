import type { TaintPolicy } from '../policy.ts';
import type { NativeTranslation } from './native-objects.ts';
import type { TranslationOptions } from './translate.ts';

/** A TaintPolicy in the API server's own language. */
export function translateNodes(_policy: TaintPolicy, _options: TranslationOptions): NativeTranslation {
  return { policies: [], limits: [] };
}
