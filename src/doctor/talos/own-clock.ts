import type { X509Certificate } from 'node:crypto';
import { parseCertificates } from '../../certs/bundle.ts';
import { signerOf } from '../../certs/chain.ts';
import { invalidAt } from '../../certs/inspect.ts';
import type { TalosContext } from '../../talos/talosconfig.ts';
import { consequence, type Finding, finding } from '../check.ts';
import { hostPort } from '../facts/dial.ts';
import { certificateCheckAt } from './check-names.ts';
import type { DialledApi } from './dial-apid.ts';
import { SET_CLOCK } from './remedies.ts';

/** That the clock of this machine is wrong, and what shows it. */
export interface OwnClock {
  readonly is: 'ahead' | 'behind';
  readonly proof: string;
  /** The nodes whose certificates show it. None if only the client certificate does. */
  readonly shownBy: readonly string[];
}

/**
 * Whether the certificates show that this machine's clock is wrong. Talos renews the certificate of a machine every day, so one that has expired says
 * that a clock is wrong. It is this machine's if several nodes agree, or if the client certificate is not valid by it either. A node that accepts such
 * a client certificate has another time.
 */
export function ownClock({ ca, crt }: TalosContext, dialled: readonly DialledApi[], now: Date): OwnClock | undefined {
  const nodes = dialled.flatMap(({ host, port, answer }) =>
    answer.outcome === 'greeted' ? [{ at: hostPort(host, port), clock: clockBy(answer.leaf, now), ...answer }] : [],
  );
  const [first] = nodes;
  // Several nodes rarely have the same wrong time.
  if (first?.clock && nodes.length > 1 && nodes.every(({ clock }) => clock === first.clock))
    return { is: first.clock, proof: 'the certificates of all nodes show it', shownBy: nodes.map(({ at }) => at) };

  const [client] = parseCertificates(crt);
  const is = client && clockBy(client, now);
  if (is === undefined) return undefined;
  // By the clock of a node that says so, it has expired as well.
  const cas = parseCertificates(ca);
  const judging = nodes.filter(({ leaf, refusal = '' }) => signerOf(leaf, cas) && !/expired/.test(refusal));
  const witnesses = judging.filter(({ clock }) => clock === is);
  if (witnesses.length > 0) {
    const shownBy = witnesses.map(({ at }) => at);
    return { is, proof: 'by it, the client certificate is not valid either', shownBy };
  }
  const accepting = judging.find(({ refusal }) => refusal === undefined);
  return accepting && { is, proof: `${accepting.at} accepts it`, shownBy: [] };
}

/**
 * The problem that the client certificate is not valid by the wrong clock of this machine. It follows from the certificate of a node that shows the
 * same. Undefined if the clock is not the cause.
 */
export function clientByClock(
  { crt }: TalosContext,
  clock: OwnClock | undefined,
  now: Date,
): Finding<string> | undefined {
  const [client] = parseCertificates(crt);
  if (!client || !clock || clockBy(client, now) !== clock.is) return undefined;
  const { is, proof, shownBy } = clock;
  const told = `by this machine's clock, it is ${invalidAt(client, now)}`;
  const other = is === 'ahead' ? 'behind' : 'ahead';
  const evidence = `clocks: ${told}, and ${proof}: this machine's clock is ${is}, or the node's is ${other}`;
  return consequence(
    finding('problem', evidence, SET_CLOCK),
    (cause) => `${told}, and that clock is ${is}: see ${cause}`,
    shownBy.map(certificateCheckAt),
  );
}

/** How this machine's clock is wrong if the certificate is valid. */
function clockBy({ validFromDate, validToDate }: X509Certificate, now: Date): OwnClock['is'] | undefined {
  if (now < validFromDate) return 'behind';
  return now >= validToDate ? 'ahead' : undefined;
}
