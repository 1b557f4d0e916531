import type { X509Certificate } from 'node:crypto';
import { namesText, uncoveredNames } from '../../certs/certificate-names.ts';
import { signerOf } from '../../certs/chain.ts';
import { issuerOf } from '../../certs/distinguished-name.ts';
import { invalidAt } from '../../certs/inspect.ts';
import type { TalosContext } from '../../talos/talosconfig.ts';
import type { CheckResult } from '../check.ts';
import { type ConnectionFault, type FaultKind, hostPort } from '../facts/dial.ts';
import type { TalosAnswers } from './ask-apid.ts';
import type { ApidAddress, ApidAnswer, DialledApi } from './dial-apid.ts';
import { checkClientByClock, type OwnClock, ownClock, SET_CLOCK } from './own-clock.ts';
import {
  checkClient,
  checkContext,
  chooseOrRenew,
  describeCa,
  firstConfiguration,
  isMixed,
  refusedClient,
} from './talosconfig-checks.ts';

/**
 * Checks how Talos' API is reached with a talosconfig. Causes are problems, and what follows from them is skipped.
 * @param answers of the nodes that were called, directly or through an endpoint, and of the endpoints
 */
export function checkTalosApi(
  context: TalosContext,
  dialled: readonly DialledApi[],
  answers: TalosAnswers,
  now: Date,
): CheckResult[] {
  const clock = ownClock(context, dialled, now);
  const ownClient = checkClient(context, now);
  const client = checkClientByClock(context, clock, now) ?? ownClient;
  const given = { now, clientIsValid: ownClient.state !== 'problem', clock };
  return [
    ...checkContext(context, dialled.length > 0),
    client,
    ...dialled.map(
      (api) =>
        passedOn(api, answers) ??
        passingNothing(api, answers) ??
        checkApi(api, context, { ...given, saysMaintenance: saysMaintenance(api, answers) }),
    ),
    ...versionNotAsked(context),
  ];
}

function versionNotAsked({ otherAuth }: TalosContext): CheckResult[] {
  if (otherAuth === undefined) return [];
  const evidence = `the version of Talos is not asked for with ${otherAuth}: talosctl version`;
  return [{ area: 'configuration', name: 'version', state: 'skipped', evidence }];
}

/** An address that was dialled, and whether it can be called. */
export interface CallableApi {
  readonly host: string;
  readonly port: number;
  /** Whether a TLS server answered. */
  readonly isReached: boolean;
  /** Whether calls can succeed: it is Talos, and accepts the client certificate or needs none. */
  readonly isCallable: boolean;
  /** It does not refuse our certificate, and an unknown CA issued its own. Only its answer to a call shows what it is. */
  readonly mayBeInMaintenance: boolean;
}

/** Determines which of the dialled addresses can be called. */
export function callableApis(context: TalosContext, dialled: readonly DialledApi[], now: Date): CallableApi[] {
  const clientIsValid = checkClient(context, now).state !== 'problem' && context.crt !== undefined;
  return dialled.map((api): CallableApi => {
    const { state } = checkApi(api, context, { now, clientIsValid, clock: undefined, saysMaintenance: false });
    const mayBeInMaintenance = acceptsUnknownClients(api.answer, context);
    return {
      host: api.host,
      port: api.port,
      isReached: api.answer.outcome === 'greeted',
      isCallable: mayBeInMaintenance || (state === 'ok' && clientIsValid && context.ca !== undefined),
      mayBeInMaintenance,
    };
  });
}

/**
 * Whether it accepts our certificate although another CA issued its own. Talos in maintenance mode does, because it asks for none. So do
 * other services, and a machine whose CA is being replaced.
 */
function acceptsUnknownClients(answer: ApidAnswer, { ca, crt }: TalosContext): boolean {
  if (answer.outcome === 'failed' || ca === undefined || crt === undefined) return false;
  return answer.refusal === undefined && !signerOf(answer.leaf, ca);
}

/** Whether Talos told its version to an unknown client, as it does in maintenance mode only. */
function saysMaintenance(api: DialledApi, { nodes }: TalosAnswers): boolean {
  return nodes.some(
    ({ at, isForwarded, mayBeInMaintenance, version }) =>
      isAt(api)(at) && !isForwarded && mayBeInMaintenance && version.ok,
  );
}

function isAt({ host, port }: ApidAddress): (other: ApidAddress) => boolean {
  return (other) => other.host === host && other.port === port;
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
    remedy: 'talosctl config endpoint IP, with the addresses of control planes',
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

type Greeted = Extract<ApidAnswer, { readonly outcome: 'greeted' }>;

interface Circumstances {
  readonly now: Date;
  readonly clientIsValid: boolean;
  /** If a wrong clock is this machine's. */
  readonly clock: OwnClock | undefined;
  readonly saysMaintenance: boolean;
}

function checkApi({ host, port, answer }: DialledApi, context: TalosContext, given: Circumstances): CheckResult {
  const check = hostPort(host, port);
  if (answer.outcome === 'failed') return checkUnreached(check, port, answer.fault, context, given);
  const { leaf, refusal } = answer;
  if (context.ca === undefined) return withoutCa(check, context);
  if (!signerOf(leaf, context.ca)) return checkUnknownIssuer(check, host, answer, context, given);
  const fault = checkValidity(check, host, leaf, given) ?? checkName(check, host, leaf);
  if (fault) return fault;
  if (refusal !== undefined) return refusedClient(check, refusal, context, given);
  return {
    area: 'network',
    name: check,
    state: 'ok',
    evidence: `Talos' API answers; its certificate is of this CA, until ${leaf.validToDate.toISOString()}`,
  };
}

function checkUnreached(
  check: string,
  port: number,
  { kind, message }: ConnectionFault,
  context: TalosContext,
  given: Circumstances,
): CheckResult {
  if (kind === 'certificate' || kind === 'stranger') return refusedClient(check, message, context, given);
  const evidence = `port ${port} ${NETWORK[kind]} (${message})`;
  if (kind !== 'refused' && kind !== 'silent') return { area: 'network', name: check, state: 'problem', evidence };
  const remedy = `see the console of the machine, and check that no firewall on the way closes port ${port}`;
  return { area: 'network', name: check, state: 'problem', evidence, remedy };
}

/** The result for a context that has no CA, as those with other authentication than certificates. */
function withoutCa(check: string, { name, otherAuth }: TalosContext): CheckResult {
  return otherAuth
    ? {
        area: 'network',
        name: check,
        state: 'ok',
        evidence: `it answers; context ${name} has no CA to compare its certificate with`,
      }
    : {
        area: 'certificate',
        name: check,
        state: 'skipped',
        evidence: 'there is no CA to compare its certificate with: see talosconfig',
      };
}

/** The result for a server whose certificate is not of the CA of the context. */
function checkUnknownIssuer(
  check: string,
  host: string,
  answer: Greeted,
  context: TalosContext,
  { saysMaintenance }: Circumstances,
): CheckResult {
  if (saysMaintenance) {
    return {
      area: 'configuration',
      name: check,
      state: 'problem',
      evidence:
        'it asks for no client certificate, its own is of another CA, and its API answers as Talos in maintenance mode does, without a configuration',
      remedy: firstConfiguration(host, 'FILE'),
    };
  }
  const other = `its certificate is of another CA (issuer ${issuerOf(answer.leaf)}) than the talosconfig's (${describeCa(context.ca ?? '')})`;
  if (!acceptsUnknownClients(answer, context)) {
    return {
      area: 'certificate',
      name: check,
      state: 'problem',
      evidence: `${other}: the talosconfig is of another cluster, or older than the machine`,
      remedy: chooseOrRenew(context),
    };
  }
  if (isMixed(context)) {
    return {
      area: 'certificate',
      name: check,
      state: 'skipped',
      evidence:
        'it does not refuse the client certificate, and its own is not of the CA of the context either: see client certificate',
    };
  }
  return {
    area: 'certificate',
    name: check,
    state: 'problem',
    evidence: `${other}, and yet it does not refuse the client certificate: its CA is being replaced, or it is another service, or it is Talos without a configuration and did not answer as such`,
    remedy: 'see the console of the machine',
  };
}

/** The problem of a certificate that is not valid now, which says that a clock is wrong. Undefined if it is valid. */
function checkValidity(
  check: string,
  host: string,
  leaf: X509Certificate,
  { now, clock }: Circumstances,
): CheckResult | undefined {
  const invalid = invalidAt(leaf, now);
  if (invalid === undefined) return undefined;
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
    name: check,
    state: 'problem',
    evidence: `clocks: its certificate is ${invalid}: ${whose}`,
    remedy: isOurs ? SET_CLOCK : `talosctl time --nodes ${host}, from where it works`,
  };
}

function checkName(check: string, host: string, leaf: X509Certificate): CheckResult | undefined {
  if (uncoveredNames(leaf, [host]).length === 0) return undefined;
  return {
    area: 'configuration',
    name: check,
    state: 'problem',
    evidence: `its certificate is not for ${host}, but for ${namesText(leaf)}`,
    remedy: `use one of these as endpoint, or add ${host} to machine.certSANs of the control planes`,
  };
}
