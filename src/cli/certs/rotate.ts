import { Command } from 'commander';
import { fingerprints } from '../../certs/bundle.ts';
import { introduceCa, isRotating, type RotationStep, reissue } from '../../certs/rotation.ts';
import { type RotationObstacle, rotationObstacle } from '../../certs/rotation-obstacle.ts';
import { notValidYet, servingFault } from '../../certs/stored-faults.ts';
import type { CompleteFiles } from '../../certs/stored-files.ts';
import {
  readSecret,
  type SecretRef,
  type SecretState,
  writeSecret,
} from '../../cluster/certificates/certificate-secret.ts';
import { confirmedTime } from '../../cluster/client/confirmed-time.ts';
import { OWN_LABEL, OWN_SECRET } from '../../cluster/installation/own-names.ts';
import { InputError } from '../../files/input-error.ts';
import { pause } from '../../runtime/pause.ts';
import type { ClusterOptions } from '../cluster-options.ts';
import { parseSeconds } from '../options.ts';
import { withProgress } from '../output/stderr.ts';
import { atSite, type Site, withClusterOptions } from './site.ts';

const POLL_MS = 500;

/** `taintkeeper certs rotate` */
export function rotateCommand(): Command {
  return withClusterOptions(new Command('rotate'))
    .description(
      'Replace the serving certificate, also an expired one. With --ca, replace the CA: the leader does the next steps. No request fails.',
    )
    .option('--ca', 'replace the CA, and then the serving certificate', false)
    .option('--timeout <seconds>', 'how long to wait until the new serving certificate is in force', parseSeconds, 120)
    .addHelpText('after', '\nExit code: 0 replaced, 2 could not replace it.')
    .action((options: ClusterOptions & { ca: boolean; timeout: number }) =>
      atSite({ ...options, secret: OWN_SECRET }, async (site) => {
        const { steps, issuer } = await withProgress('asking the API server', beginRotation(site, options.ca));
        process.stdout.write(steps.map((step) => `${step}\n`).join(''));
        if (!options.ca) return;
        await withProgress('waiting until every caBundle trusts it', waitForServing(site, issuer, options.timeout));
        process.stdout.write(
          'the serving certificate was issued by the new CA; the earlier CA is removed from the bundle after its overlap\n',
        );
      }),
    );
}

/** What a rotation has begun with: its steps as text, and the fingerprint of the CA that issues from then on. */
interface Begun {
  readonly steps: readonly string[];
  readonly issuer: string | undefined;
}

/**
 * Starts a rotation. An unusable serving certificate is replaced first, also with `--ca`: its replacement is issued by
 * the CA that the API server trusts already.
 */
async function beginRotation({ client, ref, names }: Site, ca: boolean): Promise<Begun> {
  const before = await readSecret(client, ref);
  const now = await confirmedTime(client);
  refuseUnlessReplaceable(before, ref, names, now);
  // Complete, except that the serving certificate or its key may be missing.
  const files = before.files as CompleteFiles;
  const fault = servingFault(files, names, now, 0);
  const future = notValidYet(files.bundle, now);
  if (future !== undefined && !ca) {
    throw new InputError([
      `Secret ${ref.namespace}/${ref.name}: the CA is ${future}, and API servers refuse its certificates until then: replace the CA with --ca`,
    ]);
  }
  // A CA that is not valid yet would be introduced for years.
  if (future === undefined && fault === undefined && isRotating(files)) {
    throw new InputError(['a new CA is being introduced already: try again when that is done']);
  }

  const steps: RotationStep[] = [];
  if (fault !== undefined || !ca) steps.push(await reissue(files, names, now, fault ?? 'asked for'));
  if (ca) steps.push(await introduceCa(steps[0]?.files ?? files, now, 'asked for'));
  const { files: next } = steps.at(-1) as RotationStep;
  if (!(await writeSecret(client, ref, next, before))) {
    throw new InputError([`Secret ${ref.namespace}/${ref.name} was changed by another writer: try again`]);
  }
  return { steps: steps.map(({ what }) => what), issuer: fingerprints(next.bundle)[0] };
}

/** Refuses a Secret whose CA cannot issue, and a serving certificate for another Service. @throws InputError */
function refuseUnlessReplaceable(
  { files, resourceVersion }: SecretState,
  { namespace, name }: SecretRef,
  names: readonly string[],
  now: Date,
): void {
  const secret = `Secret ${namespace}/${name}`;
  if (resourceVersion === undefined) {
    throw new InputError([
      `${secret} not found: check --namespace. With cert-manager or an existing Secret, the issuer of that certificate renews it.`,
    ]);
  }
  const obstacle = rotationObstacle(files, names, now);
  if (obstacle) throw new InputError([`${secret}${obstacleText(obstacle, namespace)}`]);
}

function obstacleText(obstacle: RotationObstacle, namespace: string): string {
  switch (obstacle.kind) {
    case 'otherIssuer':
      return ' has no ca.key: its certificates were issued by another issuer, and taintkeeper does not renew them';
    case 'ca':
      return `: the CA cannot be used: ${obstacle.reason}. ${newCertificates(namespace)}`;
    case 'names':
      return `: the serving certificate is not for ${obstacle.uncovered.join(', ')}: check --namespace`;
  }
}

function newCertificates(namespace: string): string {
  return (
    'The leader, or a replica that starts, issues a new CA and serving certificate: ' +
    `kubectl rollout restart --namespace ${namespace} deployment --selector ${OWN_LABEL}`
  );
}

/**
 * Waits until the leader has replaced the serving certificate by one of the new CA.
 * @param issuer the new CA's fingerprint
 * @throws InputError if that takes too long, or another writer deletes the Secret or replaces its CA
 */
async function waitForServing(
  { client, ref, names }: Site,
  issuer: string | undefined,
  seconds: number,
): Promise<void> {
  const deadline = performance.now() + seconds * 1000;
  const secret = `Secret ${ref.namespace}/${ref.name}`;
  for (;;) {
    const state = await readSecret(client, ref);
    if (state.resourceVersion === undefined) {
      throw new InputError([`${secret} was deleted during the rotation. ${newCertificates(ref.namespace)}`]);
    }
    refuseUnlessReplaceable(state, ref, names, client.now());
    if (fingerprints(state.files.bundle ?? '')[0] !== issuer) {
      throw new InputError([
        `${secret} has another CA than the new one, because another writer replaced it: try again`,
      ]);
    }
    // The leader also replaces a serving certificate that is missing or unusable.
    const isUsable = servingFault(state.files, names, client.now(), 0) === undefined;
    if (isUsable && !isRotating(state.files as CompleteFiles)) break;
    if (performance.now() > deadline) {
      throw new InputError([
        `the serving certificate was not replaced within ${seconds} s: check that a replica leads (taintkeeper doctor), and see its log`,
      ]);
    }
    await pause(POLL_MS);
  }
}
