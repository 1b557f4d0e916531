import type { TolerationPolicy } from '../policy.ts';
import type { NativeTranslation } from './native-objects.ts';
import type { TranslationOptions } from './translate.ts';

/** A TolerationPolicy in the API server's own language. */
export function translateDaemonSets(_policy: TolerationPolicy, _options: TranslationOptions): NativeTranslation {
  return { policies: [], limits: [] };
}
