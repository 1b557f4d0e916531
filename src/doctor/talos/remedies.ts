import type { TalosContext } from '../../talos/talosconfig.ts';
import { atMost } from '../../text/counts.ts';
import { shellWord } from '../../text/printable.ts';

/** How to set the clock of this machine. */
export const SET_CLOCK = 'set the clock: timedatectl set-ntp true';

export const SET_ENDPOINTS = 'talosctl config endpoint IP, with the addresses of control planes';

/** How to replace an unusable talosconfig. The name and the endpoint of the cluster may be any. */
export const NEW_TALOSCONFIG =
  "create a new talosconfig where the cluster's secrets.yaml is (if it is lost, first: talosctl gen secrets --from-controlplane-config controlplane.yaml): talosctl gen config --with-secrets secrets.yaml --output-types talosconfig CLUSTER https://ENDPOINT:6443";

/**
 * The command that gives a machine in maintenance mode its first configuration, which has secrets. Another machine could answer in its
 * place, so the user compares the fingerprint with the one on the console.
 */
export function firstConfiguration(host: string, file: string): string {
  return `talosctl apply-config --insecure --nodes ${shellWord(host)} --cert-fingerprint FINGERPRINT --file ${shellWord(file)}, with the fingerprint that the console of the machine shows`;
}

const MAX_NAMED = 5;

/** What to do if the CA of the talosconfig did not issue the machine's certificate. */
export function chooseOrRenew({ others }: Pick<TalosContext, 'others'>): string {
  if (others.length === 0) return NEW_TALOSCONFIG;
  const named = atMost(MAX_NAMED, others).join(', ');
  return `if another context is that of this cluster (${named}), choose it: talosctl config context NAME; or ${NEW_TALOSCONFIG}`;
}
