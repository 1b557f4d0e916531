import type { X509Certificate } from 'node:crypto';
import { namesText } from '../../certs/certificate-names.ts';
import { issuerOf } from '../../certs/distinguished-name.ts';
import type { TalosContext } from '../../talos/talosconfig.ts';
import { consequence, finding } from '../check.ts';
import type { ConnectionFault, FaultKind } from '../facts/dial.ts';
import type { TalosAnswers } from './ask-apid.ts';
import { CLIENT_CERTIFICATE, TALOSCONFIG } from './check-names.ts';
import { describeCa, isMixed } from './context-ca.ts';
import { type DialledApi, isAt } from './dial-apid.ts';
import type { ApiJudgement, JudgedApi } from './judged-api.ts';
import { refusedClient } from './refused-client.ts';
import { chooseOrRenew, firstConfiguration, SET_CLOCK, SET_ENDPOINTS } from './remedies.ts';
import type { TalosFacts, TalosFinding } from './talos-facts.ts';

/** Checks that the certificate of an address is valid now. No finding unless it is of the CA of the context. */
export function checkApiCertificate({ host, judgement }: JudgedApi, facts: TalosFacts): readonly TalosFinding[] {
  return judgement.is === 'not valid now' ? [notValidNow(host, judgement, facts)] : [];
}

/** Checks how an address answers. No finding if {@link checkApiCertificate} has one. */
export function checkApi(api: JudgedApi, facts: TalosFacts): readonly TalosFinding[] {
  return [passedOn(api, facts.answers) ?? passingNothing(api, facts.answers) ?? findingOf(api, facts)].flat();
}

/** Whether Talos told its version to an unknown client, as it does in maintenance mode only. */
function saysMaintenance(api: DialledApi, { nodes }: TalosAnswers): boolean {
  return nodes.some(
    ({ at, isForwarded, mayBeInMaintenance, version }) =>
      isAt(api)(at) && !isForwarded && mayBeInMaintenance && version.ok,
  );
}

/** The result for an endpoint that is a worker. The node itself may be healthy, but talosctl cannot reach another node through it. */
function passingNothing(api: DialledApi, { workers }: TalosAnswers): TalosFinding | undefined {
  if (!workers.some(isAt(api))) return undefined;
  return {
    area: 'configuration',
    state: 'problem',
    evidence:
      'this endpoint is a worker, which passes no calls on to other nodes (no request forwarding), and talosctl sends every call through an endpoint',
    remedy: SET_ENDPOINTS,
  };
}

/** The result for a node that is not reached directly, and was called through an endpoint, as talosctl does. */
function passedOn({ host, answer }: DialledApi, { nodes }: TalosAnswers): TalosFinding | undefined {
  const forwarded = nodes.find(({ name, isForwarded }) => name === host && isForwarded);
  if (!forwarded || answer.outcome === 'greeted') return undefined;
  const { message } = answer.fault;
  return forwarded.version.ok
    ? {
        area: 'network',
        state: 'ok',
        evidence: `it answers through ${forwarded.at.host}, though not to this machine (${message})`,
      }
    : {
        area: 'network',
        state: 'skipped',
        evidence: `this machine does not reach it either (${message}): see ${host}`,
      };
}

const NETWORK: Readonly<Record<FaultKind, string>> = {
  refused:
    'is closed: the address is right and nothing listens there, so Talos is still starting, or it is another machine',
  silent: 'gives no answer: a firewall discards packets on the way, or the machine is off',
  unreachable: 'cannot be reached: there is no route, or the name is not resolved',
  closed: 'speaks no TLS: something other than Talos listens there',
  stranger: 'asks for another client certificate',
  foreign: 'is answered by something other than Talos',
  certificate: 'refuses the handshake',
  other: 'cannot be dialled',
};

function findingOf(api: JudgedApi, facts: TalosFacts): TalosFinding | readonly TalosFinding[] {
  const { host, port, judgement } = api;
  const { context } = facts;
  switch (judgement.is) {
    case 'unreached':
      return unreached(port, judgement.fault);
    case 'refusing':
      return refusedClient(judgement.said, facts);
    case 'not comparable':
      return withoutCa(context);
    case 'of another CA':
      return unknownIssuer(api, judgement, facts);
    case 'not valid now':
      return [];
    case 'of another name':
      return wrongName(host, judgement.leaf);
    case 'trusted': {
      const until = judgement.leaf.validToDate.toISOString();
      const evidence = `Talos' API answers; its certificate is of this CA, until ${until}`;
      return { area: 'network', state: 'ok', evidence };
    }
  }
}

function unreached(port: number, { kind, message }: ConnectionFault): TalosFinding {
  const evidence = `port ${port} ${NETWORK[kind]} (${message})`;
  if (kind !== 'refused' && kind !== 'silent') return { area: 'network', state: 'problem', evidence };
  const remedy = `see the console of the machine, and check that no firewall on the way closes port ${port}`;
  return { area: 'network', state: 'problem', evidence, remedy };
}

/** The result for a context that has no CA, as those with other authentication than certificates. */
function withoutCa({ name, otherAuth }: TalosContext): TalosFinding {
  return otherAuth
    ? {
        area: 'network',
        state: 'ok',
        evidence: `it answers; context ${name} has no CA to compare its certificate with`,
      }
    : consequence(finding('skipped', 'there is no CA to compare its certificate with'), undefined, [TALOSCONFIG]);
}

/** The result for a server whose certificate is not of the CA of the context. */
function unknownIssuer(
  api: JudgedApi,
  { leaf, acceptsUs }: Extract<ApiJudgement, { readonly is: 'of another CA' }>,
  { context, answers }: TalosFacts,
): TalosFinding {
  if (saysMaintenance(api, answers)) {
    return {
      area: 'configuration',
      state: 'problem',
      evidence:
        'it asks for no client certificate, its own is of another CA, and its API answers as Talos in maintenance mode does, without a configuration',
      remedy: firstConfiguration(api.host, 'FILE'),
    };
  }
  const other = `its certificate is of another CA (issuer ${issuerOf(leaf)}) than the talosconfig's (${describeCa(context.ca ?? '')})`;
  if (!acceptsUs) {
    return {
      area: 'certificate',
      state: 'problem',
      evidence: `${other}: the talosconfig is of another cluster, or older than the machine`,
      remedy: chooseOrRenew(context),
    };
  }
  const replaced = finding(
    'problem',
    `${other}, and yet it does not refuse the client certificate: its CA is being replaced, or it is another service, or it is Talos without a configuration and did not answer as such`,
    'see the console of the machine',
  );
  const isAsMixed = 'it does not refuse the client certificate, and its own is not of the CA of the context either';
  return isMixed(context)
    ? consequence(replaced, () => `${isAsMixed}: see ${CLIENT_CERTIFICATE}`, [CLIENT_CERTIFICATE])
    : replaced;
}

/** The problem of a certificate that is not valid now, which says that a clock is wrong. */
function notValidNow(
  host: string,
  { leaf, reason }: Extract<ApiJudgement, { readonly is: 'not valid now' }>,
  { now, clock }: TalosFacts,
): TalosFinding {
  const isEarly = now < leaf.validFromDate;
  const [ours, theirs] = isEarly
    ? (['behind', 'ahead'] as const)
    : (['ahead', 'behind, or it has not renewed it'] as const);
  const isOurs = clock?.is === ours;
  const whose = isOurs
    ? `this machine's clock is ${ours}: ${clock.proof}`
    : `the node's clock is ${theirs}, or this machine's is ${ours}`;
  return {
    area: 'certificate',
    state: 'problem',
    evidence: `clocks: its certificate is ${reason}: ${whose}`,
    remedy: isOurs ? SET_CLOCK : `talosctl time --nodes ${host}, from where it works`,
  };
}

function wrongName(host: string, leaf: X509Certificate): TalosFinding {
  return {
    area: 'configuration',
    state: 'problem',
    evidence: `its certificate is not for ${host}, but for ${namesText(leaf)}`,
    remedy: `use one of these as endpoint, or add ${host} to machine.certSANs of the control planes`,
  };
}
