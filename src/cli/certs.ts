import { setTimeout as delay } from 'node:timers/promises';
import { Command } from 'commander';
import { type CertificateReport, type RegisteredBundle, reportCertificates } from '../certs/certificate-report.ts';
import { type RotationObstacle, rotationObstacle, servingFault } from '../certs/inspect.ts';
import { type CompleteFiles, introduceCa, isRotating, type RotationStep, reissue } from '../certs/rotation.ts';
import { readSecret, type SecretRef, type SecretState, writeSecret } from '../cluster/certificate-secret.ts';
import type { ApiClient } from '../cluster/client/api-client.ts';
import { confirmedTime } from '../cluster/client/confirmed-time.ts';
import { OWN_SERVICE } from '../cluster/own-names.ts';
import { serverName } from '../cluster/service-endpoint.ts';
import { caBundleOf, readWebhooks } from '../cluster/webhook-configurations.ts';
import { InputError } from '../files/text-files.ts';
import { atCluster, CLUSTER_OPTIONS, type ClusterOptions, namespaceFor } from './cluster-options.ts';
import { type OutputFormat, outputOption, parseSeconds } from './options.ts';
import { formatAs } from './output/format.ts';
import type { Look } from './output/look.ts';
import { withProgress } from './output/stderr.ts';
import { columns } from './output/table.ts';
import { EXIT } from './process.ts';

interface Site {
  readonly client: ApiClient;
  readonly ref: SecretRef;
  readonly names: readonly string[];
}

/** `taintkeeper certs`: shows and replaces the certificates of taintkeeper in a cluster. */
export function certsCommand(exit: (code: number) => void): Command {
  return new Command('certs')
    .description('Show and rotate the certificates of taintkeeper in a cluster.')
    .addCommand(statusCommand(exit))
    .addCommand(rotateCommand());
}

function statusCommand(exit: (code: number) => void): Command {
  return withClusterOptions(new Command('status'))
    .description('Show the CA, the serving certificate, and whether every webhook trusts it.')
    .addOption(outputOption())
    .addHelpText(
      'after',
      '\nExit code: 0 no problem, 1 a problem was found, 2 could not determine the state (connection or permission error).',
    )
    .action((options: ClusterOptions & { output: OutputFormat }) =>
      atSite(options, async ({ client, ref, names }) => {
        const reading = Promise.all([readSecret(client, ref), registeredBundles(client)]);
        const [{ files }, bundles] = await withProgress('asking the API server', reading);
        const report = reportCertificates(files, bundles, names, await confirmedTime(client));
        process.stdout.write(formatAs(options.output, { data: () => report, table: (look) => table(report, look) }));
        exit(report.problems.length > 0 ? EXIT.problem : EXIT.ok);
      }),
    );
}

const POLL_MS = 500;

function rotateCommand(): Command {
  return withClusterOptions(new Command('rotate'))
    .description(
      'Replace the serving certificate, also an expired one. With --ca, replace the CA: the leader does the next steps. No request fails.',
    )
    .option('--ca', 'replace the CA, and then the serving certificate', false)
    .option('--timeout <seconds>', 'how long to wait until the new serving certificate is in force', parseSeconds, 120)
    .addHelpText('after', '\nExit code: 0 replaced, 2 could not replace it.')
    .action((options: ClusterOptions & { ca: boolean; timeout: number }) =>
      atSite(options, async (site) => {
        const steps = await withProgress('asking the API server', beginRotation(site, options.ca));
        process.stdout.write(steps.map((step) => `${step}\n`).join(''));
        if (!options.ca) return;
        await withProgress('waiting until every caBundle trusts it', waitForServing(site, options.timeout));
        process.stdout.write(
          'the serving certificate was issued by the new CA; the earlier CA is removed from the bundle after its overlap\n',
        );
      }),
    );
}

/**
 * Starts a rotation, and says with which steps. An unusable serving certificate is replaced first, also with `--ca`: its replacement is issued by
 * the CA that the API server trusts already.
 */
async function beginRotation({ client, ref, names }: Site, ca: boolean): Promise<string[]> {
  const before = await readSecret(client, ref);
  const now = await confirmedTime(client);
  refuseUnlessReplaceable(before, ref, names, now);
  // Complete, except that the serving certificate or its key may be missing.
  const files = before.files as CompleteFiles;
  const fault = servingFault(files, names, now, 0);
  if (fault === undefined && isRotating(files)) {
    throw new InputError(['a new CA is being introduced already: try again when that is done']);
  }

  const steps: RotationStep[] = [];
  if (fault !== undefined || !ca) steps.push(await reissue(files, names, now, fault ?? 'asked for'));
  if (ca) steps.push(await introduceCa(steps[0]?.files ?? files, now, 'asked for'));
  const { files: next } = steps.at(-1) as RotationStep;
  if (!(await writeSecret(client, ref, next, before))) {
    throw new InputError([`Secret ${ref.namespace}/${ref.name} was changed by another writer: try again`]);
  }
  return steps.map(({ what }) => what);
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
    throw new InputError([`${secret} not found. Is taintkeeper installed in namespace ${namespace}?`]);
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
    `kubectl rollout restart --namespace ${namespace} deployment --selector app.kubernetes.io/name=taintkeeper`
  );
}

/**
 * Waits until the leader has replaced the serving certificate.
 * @throws InputError if that takes too long, or another writer deletes the Secret or its CA
 */
async function waitForServing({ client, ref, names }: Site, seconds: number): Promise<void> {
  const deadline = performance.now() + seconds * 1000;
  for (;;) {
    const state = await readSecret(client, ref);
    if (state.resourceVersion === undefined) {
      const secret = `Secret ${ref.namespace}/${ref.name}`;
      throw new InputError([`${secret} was deleted during the rotation. ${newCertificates(ref.namespace)}`]);
    }
    refuseUnlessReplaceable(state, ref, names, client.now());
    // The leader also replaces a serving certificate that is missing or unusable.
    const isUsable = servingFault(state.files, names, client.now(), 0) === undefined;
    if (isUsable && !isRotating(state.files as CompleteFiles)) break;
    if (performance.now() > deadline) {
      throw new InputError([
        `the serving certificate was not replaced within ${seconds} s: check that a replica leads (taintkeeper doctor), and see its log`,
      ]);
    }
    await delay(POLL_MS);
  }
}

function withClusterOptions(command: Command): Command {
  return command
    .addOption(CLUSTER_OPTIONS.kubeconfig())
    .addOption(CLUSTER_OPTIONS.context())
    .addOption(CLUSTER_OPTIONS.namespace())
    .addOption(CLUSTER_OPTIONS.secret());
}

/** Runs the work, and closes the connections. Refusals of the cluster, and missing answers, become an InputError. */
function atSite(options: ClusterOptions, work: (site: Site) => Promise<void>): Promise<void> {
  return atCluster(options, (client) => {
    const namespace = namespaceFor(options, client);
    const service = { namespace, name: OWN_SERVICE };
    return work({ client, ref: { namespace, name: options.secret }, names: [serverName(service)] });
  });
}

async function registeredBundles(client: ApiClient): Promise<RegisteredBundle[]> {
  const webhooks = await readWebhooks(client);
  return webhooks.map((webhook) => ({ webhook: webhook.name, bundle: caBundleOf(webhook) }));
}

function table({ certificates, webhooks, renewedBy, rotating, problems }: CertificateReport, look: Look): string {
  return [
    columns(
      [
        ['CERTIFICATE', 'SUBJECT', 'EXPIRES'],
        ...certificates.map(({ role, subject, expires }) => [role, subject, expires]),
      ],
      look,
    ),
    columns([['WEBHOOK', 'TRUSTS'], ...webhooks.map(({ webhook, trusts }) => [webhook, trusts])], look),
    ...(renewedBy === 'taintkeeper' ? [] : [`renewed by ${renewedBy}: the Secret has no ca.key\n`]),
    ...(rotating ? [`rotation in progress: ${rotating}\n`] : []),
    ...(problems.length > 0 ? problems.map((problem) => `problem: ${problem}\n`) : ['no problem found\n']),
  ].join('\n');
}
