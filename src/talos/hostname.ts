import type { MachineConfiguration } from './machine-configuration.ts';
import { kindOf, textAt } from './tree.ts';

/**
 * The names that the machine's node may have by its declared hostname, `machine.network.hostname` or that of the document
 * HostnameConfig: the host's name or, with registerWithFQDN, the whole. Empty where Talos finds a hostname by itself.
 */
export function nodeNames({ documents }: MachineConfiguration): string[] {
  for (const document of documents) {
    const path = kindOf(document) === 'HostnameConfig' ? ['hostname'] : ['machine', 'network', 'hostname'];
    const hostname = textAt(document, path);
    if (!hostname) continue;
    const whole = nodeName(hostname);
    return [...new Set([whole, whole.replace(/\..*/, '')])];
  }
  return [];
}

/** As Talos makes a node's name of a hostname (nodename.FromHostname of siderolabs/talos). */
function nodeName(hostname: string): string {
  return hostname
    .toLowerCase()
    .replaceAll('_', '-')
    .replace(/[^a-z0-9.-]/g, '')
    .replace(/^[-.]+|(?<![-.])[-.]+$/g, '');
}
