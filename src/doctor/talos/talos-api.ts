import type { X509Certificate } from 'node:crypto';
import { namesText } from '../../certs/certificate-names.ts';
import { issuerOf } from '../../certs/distinguished-name.ts';
import type { TalosContext } from '../../talos/talosconfig.ts';
import { type CheckResult, named, type UnnamedResult } from '../check.ts';
import { type ConnectionFault, type FaultKind, hostPort } from '../facts/dial.ts';
import type { TalosAnswers } from './ask-apid.ts';
import { type ClientJudgement, isUsable } from './client-certificate.ts';
import { describeCa, isMixed } from './context-ca.ts';
import { type DialledApi, isAt } from './dial-apid.ts';
import type { ApiJudgement, JudgedApi } from './judged-api.ts';
import { checkClientByClock, type OwnClock, ownClock } from './own-clock.ts';
import { chooseOrRenew, firstConfiguration, SET_CLOCK, SET_ENDPOINTS } from './remedies.ts';
import { checkClient, checkContext, refusedClient } from './talosconfig-checks.ts';

/**
 * Checks how Talos' API is reached with a talosconfig. Causes are problems, and what follows from them is skipped.
 * @param answers of the nodes that were called, directly or through an endpoint, and of the endpoints
 */
export function checkTalosApi(
  context: TalosContext,
  client: ClientJudgement,
  judged: readonly JudgedApi[],
  answers: TalosAnswers,
  now: Date,
): CheckResult[] {
  const clock = ownClock(context, judged, now);
  const given = { now, clientIsUsable: isUsable(client), clock };
  return [
    ...checkContext(context, judged.length > 0),
    checkClientByClock(context, clock, now) ?? checkClient(context, client, now),
    ...judged.map(
      (api) =>
        passedOn(api, answers) ??
        passingNothing(api, answers) ??
        named(
          hostPort(api.host, api.port),
          checkApi(api, context, { ...given, saysMaintenance: saysMaintenance(api, answers) }),
        ),
    ),
    ...versionNotAsked(context),
  ];
}

function versionNotAsked({ otherAuth }: TalosContext): CheckResult[] {
  if (otherAuth === undefined) return [];
  const evidence = `the version of Talos is not asked for with ${otherAuth}: talosctl version`;
  return [{ area: 'configuration', name: 'version', state: 'skipped', evidence }];
}

/** Whether Talos told its version to an unknown client, as it does in maintenance mode only. */
function saysMaintenance(api: DialledApi, { nodes }: TalosAnswers): boolean {
  return nodes.some(
    ({ at, isForwarded, mayBeInMaintenance, version }) =>
      isAt(api)(at) && !isForwarded && mayBeInMaintenance && version.ok,
  );
}

/** The result for an endpoint that is a worker. The node itself may be healthy, but talosctl cannot reach another node through it. */
function passingNothing(api: DialledApi, { workers }: TalosAnswers): CheckResult | undefined {
  if (!workers.some(isAt(api))) return undefined;
  return {
    area: 'configuration',
    name: hostPort(api.host, api.port),
    state: 'problem',
    evidence:
      'this endpoint is a worker, which passes no calls on to other nodes (no request forwarding), and talosctl sends every call through an endpoint',
    remedy: SET_ENDPOINTS,
  };
}

/** The result for a node that is not reached directly, and was called through an endpoint, as talosctl does. */
function passedOn({ host, port, answer }: DialledApi, { nodes }: TalosAnswers): CheckResult | undefined {
  const called = nodes.find(({ name, isForwarded }) => name === host && isForwarded);
  if (!called || answer.outcome === 'greeted') return undefined;
  const { message } = answer.fault;
  return called.version.ok
    ? {
        area: 'network',
        name: hostPort(host, port),
        state: 'ok',
        evidence: `it answers through ${called.at.host}, though not to this machine (${message})`,
      }
    : {
        area: 'network',
        name: hostPort(host, port),
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

interface Circumstances {
  readonly now: Date;
  readonly clientIsUsable: boolean;
  /** If a wrong clock is this machine's. */
  readonly clock: OwnClock | undefined;
  readonly saysMaintenance: boolean;
}

function checkApi({ host, port, judgement }: JudgedApi, context: TalosContext, given: Circumstances): UnnamedResult {
  switch (judgement.is) {
    case 'unreached':
      return checkUnreached(port, judgement.fault);
    case 'refusing':
      return refusedClient(judgement.said, context, given);
    case 'not comparable':
      return withoutCa(context);
    case 'of another CA':
      return checkUnknownIssuer(host, judgement, context, given);
    case 'not valid now':
      return checkValidity(host, judgement, given);
    case 'of another name':
      return checkName(host, judgement.leaf);
    case 'trusted': {
      const until = judgement.leaf.validToDate.toISOString();
      const evidence = `Talos' API answers; its certificate is of this CA, until ${until}`;
      return { area: 'network', state: 'ok', evidence };
    }
  }
}

function checkUnreached(port: number, { kind, message }: ConnectionFault): UnnamedResult {
  const evidence = `port ${port} ${NETWORK[kind]} (${message})`;
  if (kind !== 'refused' && kind !== 'silent') return { area: 'network', state: 'problem', evidence };
  const remedy = `see the console of the machine, and check that no firewall on the way closes port ${port}`;
  return { area: 'network', state: 'problem', evidence, remedy };
}

/** The result for a context that has no CA, as those with other authentication than certificates. */
function withoutCa({ name, otherAuth }: TalosContext): UnnamedResult {
  return otherAuth
    ? {
        area: 'network',
        state: 'ok',
        evidence: `it answers; context ${name} has no CA to compare its certificate with`,
      }
    : {
        area: 'certificate',
        state: 'skipped',
        evidence: 'there is no CA to compare its certificate with: see talosconfig',
      };
}

/** The result for a server whose certificate is not of the CA of the context. */
function checkUnknownIssuer(
  host: string,
  { leaf, acceptsUs }: Extract<ApiJudgement, { readonly is: 'of another CA' }>,
  context: TalosContext,
  { saysMaintenance }: Circumstances,
): UnnamedResult {
  if (saysMaintenance) {
    return {
      area: 'configuration',
      state: 'problem',
      evidence:
        'it asks for no client certificate, its own is of another CA, and its API answers as Talos in maintenance mode does, without a configuration',
      remedy: firstConfiguration(host, 'FILE'),
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
  if (isMixed(context)) {
    return {
      area: 'certificate',
      state: 'skipped',
      evidence:
        'it does not refuse the client certificate, and its own is not of the CA of the context either: see client certificate',
    };
  }
  return {
    area: 'certificate',
    state: 'problem',
    evidence: `${other}, and yet it does not refuse the client certificate: its CA is being replaced, or it is another service, or it is Talos without a configuration and did not answer as such`,
    remedy: 'see the console of the machine',
  };
}

/** The problem of a certificate that is not valid now, which says that a clock is wrong. */
function checkValidity(
  host: string,
  { leaf, reason }: Extract<ApiJudgement, { readonly is: 'not valid now' }>,
  { now, clock }: Circumstances,
): UnnamedResult {
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

function checkName(host: string, leaf: X509Certificate): UnnamedResult {
  return {
    area: 'configuration',
    state: 'problem',
    evidence: `its certificate is not for ${host}, but for ${namesText(leaf)}`,
    remedy: `use one of these as endpoint, or add ${host} to machine.certSANs of the control planes`,
  };
}
