import { rotationObstacle } from '../certs/rotation-obstacle.ts';
import { notValidYet } from '../certs/stored-faults.ts';
import { FILES } from '../certs/stored-files.ts';
import { type Facts, trustedTime } from './facts/facts.ts';
import { restart } from './restart.ts';

const PAIR = `${FILES.cert} and ${FILES.key}`;

/** How to get a new serving certificate. */
export function renewal(
  facts: Pick<
    Facts,
    'installation' | 'pods' | 'certificateSource' | 'secret' | 'serverName' | 'now' | 'apiServerAheadMs'
  >,
): string {
  const { installation, certificateSource, secret } = facts;
  const { namespace } = installation;
  if (certificateSource.kind === 'files') {
    return certificateSource.secret === undefined
      ? `replace ${PAIR} in the directory of --cert-dir: taintkeeper picks them up`
      : `have the issuer of Secret ${namespace}/${certificateSource.secret} renew it (cert-manager: cmctl renew --namespace ${namespace} CERTIFICATE; kubectl get certificates --namespace ${namespace} lists the names with their Secrets)`;
  }
  const stored = secret.ok ? secret.value : undefined;
  const obstacle = stored && rotationObstacle(stored, [facts.serverName], trustedTime(facts));
  if (obstacle?.kind === 'otherIssuer') {
    return (
      `replace ${PAIR} in Secret ${namespace}/${certificateSource.secret}, or have a replica that starts issue its own: ` +
      `kubectl delete secret --namespace ${namespace} ${certificateSource.secret} && ${restart(facts)}`
    );
  }
  // Also if there is no Secret.
  if (obstacle || (secret.ok && !stored)) return `a replica that starts issues a new one: ${restart(facts)}`;
  const isFuture = notValidYet(stored?.bundle, trustedTime(facts)) !== undefined;
  return `taintkeeper certs rotate ${isFuture ? '--ca ' : ''}--namespace ${namespace}`;
}
