import { shellWord } from '../text/printable.ts';
import type { Installation } from './facts/installation.ts';

/** The command that changes the Service by a JSON patch, because `kubectl apply` merges ports by number, and merges labels. */
export function patchService({ namespace, service }: Installation, patch: readonly object[]): string {
  return `kubectl patch service --namespace ${namespace} ${service} --type=json --patch=${shellWord(JSON.stringify(patch))}`;
}
