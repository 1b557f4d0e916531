import type { Facts } from '../facts.ts';

/** What gets a new serving certificate. */
export function renewal({ site, source, secret }: Pick<Facts, 'site' | 'source' | 'secret'>): string {
  const { namespace } = site;
  if (source.kind === 'files') {
    return source.secret === undefined
      ? 'replace tls.crt and tls.key in the directory of --cert-dir: taintkeeper picks them up'
      : `have whoever issues Secret ${namespace}/${source.secret} renew it (cert-manager: cmctl renew --namespace ${namespace} --all)`;
  }
  const foreign = secret.ok && secret.value?.cert !== undefined && secret.value.caKey === undefined;
  return foreign
    ? `replace tls.crt and tls.key in Secret ${namespace}/${source.secret}, or delete it to have taintkeeper issue its own`
    : `kubectl delete secret --namespace ${namespace} ${source.secret} (the leader issues a new one); if nobody does, see its log: kubectl logs --namespace ${namespace} deployment/${site.service}`;
}
