import { Command, Option } from 'commander';
import { type CertificateReport, type RegisteredBundle, reportCertificates } from '../../certs/certificate-report.ts';
import { caBundleOf, readWebhooks } from '../../cluster/admission-registration/webhook-configurations.ts';
import { readSecret } from '../../cluster/certificates/certificate-secret.ts';
import type { ApiClient } from '../../cluster/client/api-client.ts';
import { confirmedTime } from '../../cluster/client/confirmed-time.ts';
import { OWN_SECRET } from '../../cluster/installation/own-names.ts';
import type { ClusterOptions } from '../cluster-options.ts';
import { type OutputFormat, outputOption } from '../options.ts';
import { formatAs } from '../output/format.ts';
import type { Look } from '../output/look.ts';
import { withProgress } from '../output/stderr.ts';
import { columns } from '../output/table.ts';
import { EXIT } from '../process.ts';
import { atSite, withClusterOptions } from './site.ts';

/** `taintkeeper certs status` */
export function statusCommand(exit: (code: number) => void): Command {
  return withClusterOptions(new Command('status'))
    .description('Show the CA, the serving certificate, and whether every webhook trusts it.')
    .addOption(
      new Option('--secret <name>', 'the Secret with the certificates, such as that of cert-manager').default(
        OWN_SECRET,
      ),
    )
    .addOption(outputOption())
    .addHelpText(
      'after',
      '\nExit code: 0 no problem, 1 a problem was found, 2 could not determine the state (connection or permission error).',
    )
    .action((options: ClusterOptions & { secret: string; output: OutputFormat }) =>
      atSite(options, async ({ client, ref, names }) => {
        const reading = Promise.all([readSecret(client, ref), registeredBundles(client)]);
        const [{ files }, bundles] = await withProgress('asking the API server', reading);
        const report = reportCertificates(files, bundles, names, await confirmedTime(client));
        process.stdout.write(formatAs(options.output, { data: () => report, table: (look) => table(report, look) }));
        exit(report.problems.length > 0 ? EXIT.problem : EXIT.ok);
      }),
    );
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
