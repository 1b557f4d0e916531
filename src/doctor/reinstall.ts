import { OWN_NAMESPACE } from '../cluster/installation/own-names.ts';
import { shellWord } from '../text/printable.ts';
import type { Installation } from './facts/installation.ts';

/** The command that applies the manifests of the installation again. Only the user knows where those of another namespace are. */
export function reinstall({ helmRelease, namespace }: Installation): string {
  if (helmRelease !== undefined) {
    return `helm get manifest ${shellWord(helmRelease)} --namespace ${namespace} | kubectl apply -f -`;
  }
  return `kubectl apply -f ${namespace === OWN_NAMESPACE ? 'install.yaml' : 'MANIFESTS'}`;
}
