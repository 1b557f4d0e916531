import { OWN_SECRET } from '../../cluster/installation/own-names.ts';
import { isDnsSubdomain } from '../../kubernetes/names.ts';
import { isReady, type PodObject } from '../../objects/pod-object.ts';
import { argument } from './serve-arguments.ts';

/** Where a replica reads its certificates: the Secret that taintkeeper issues them in, or files of another issuer. */
export type CertificateSource = { readonly kind: 'secret'; readonly secret: string } | CertificateFiles;

/** Certificates in a directory. `secret` is the Secret that is mounted there, if there is one. */
interface CertificateFiles {
  readonly kind: 'files';
  readonly secret: string | undefined;
}

/** The Secret of the certificates that taintkeeper issues. */
export const OWN_CERTIFICATES: CertificateSource = { kind: 'secret', secret: OWN_SECRET };

/**
 * Read from the spec of a pod, or of a Deployment's template: from the arguments of `serve`, which the chart writes as `--name=value`. The API server
 * accepts any text as the name of a volume's Secret, and the name becomes part of paths and of commands.
 */
export function certificateSource(spec: PodObject['spec']): CertificateSource {
  for (const { args = [], volumeMounts = [] } of spec?.containers ?? []) {
    const directory = argument(args, 'cert-dir');
    if (directory === undefined) continue;
    const volume = volumeMounts.find(({ mountPath }) => mountPath === directory)?.name;
    const secret = spec?.volumes?.find(({ name }) => name === volume)?.secret?.secretName ?? '';
    return { kind: 'files', secret: isDnsSubdomain(secret) ? secret : undefined };
  }
  return OWN_CERTIFICATES;
}

/** Where the replicas read their certificates, which a rollout can change. */
export interface CertificateSources {
  /** Of the pods that serve, or of all pods if none is Ready. If they differ, that of the Deployment's template: a rollout replaces the others. */
  readonly serving: CertificateSource;
  /** Of the Deployment's template, if none of those pods is of it. */
  readonly pending: CertificateSource | undefined;
}

/**
 * Where the replicas read their certificates.
 * @param pods of the Deployment, except those that are terminating or finished
 * @param declared by the Deployment's template; undefined if it could not be read
 */
export function certificateSources(
  pods: readonly PodObject[],
  declared: CertificateSource | undefined,
): CertificateSources {
  const ready = pods.filter(isReady);
  const [first, ...others] = (ready.length > 0 ? ready : pods).map(({ spec }) => certificateSource(spec));
  if (first === undefined) return { serving: declared ?? OWN_CERTIFICATES, pending: undefined };
  if (declared === undefined) return { serving: first, pending: undefined };
  const isBegun = [first, ...others].some((source) => isSame(source, declared));
  return isBegun ? { serving: declared, pending: undefined } : { serving: first, pending: declared };
}

function isSame(one: CertificateSource, other: CertificateSource): boolean {
  return one.kind === other.kind && one.secret === other.secret;
}
