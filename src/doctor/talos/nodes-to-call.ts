import { APID_PORT, parseEndpoint } from '../../talos/endpoint.ts';
import type { TalosContext } from '../../talos/talosconfig.ts';
import type { CalledNode } from './ask-apid.ts';
import { type ClientJudgement, isUsable } from './client-certificate.ts';
import { type ApidAddress, isAt } from './dial-apid.ts';
import type { JudgedApi } from './judged-api.ts';

/** An address that was dialled, and whether it can be called. */
export interface CallableApi extends ApidAddress {
  /** Whether a TLS server answered. */
  readonly isReached: boolean;
  /** Whether calls can succeed: it is Talos, and accepts the client certificate or needs none. */
  readonly isCallable: boolean;
  /** It does not refuse our certificate, and an unknown CA issued its own. Only its answer to a call shows what it is. */
  readonly mayBeInMaintenance: boolean;
}

/** Determines which of the dialled addresses can be called. */
export function callableApis(
  { crt }: TalosContext,
  client: ClientJudgement,
  judged: readonly JudgedApi[],
): CallableApi[] {
  const clientIsUsable = isUsable(client) && crt !== undefined;
  return judged.map(({ host, port, answer, judgement }): CallableApi => {
    const mayBeInMaintenance = judgement.is === 'of another CA' && judgement.acceptsUs;
    return {
      host,
      port,
      isReached: answer.outcome === 'greeted',
      isCallable: mayBeInMaintenance || (judgement.is === 'trusted' && clientIsUsable),
      mayBeInMaintenance,
    };
  });
}

/**
 * Selects the nodes to call, and the address of each: the nodes that were named, else those of the talosconfig, else all that were
 * dialled. A node that cannot be called directly is called through an endpoint, as talosctl does. Other nodes are left out.
 * @param named on the command line
 */
export function nodesToCall(
  context: TalosContext,
  named: readonly string[],
  callable: readonly CallableApi[],
): CalledNode[] {
  const names = named.length > 0 ? named : context.nodes;
  const direct = ({ host, port, mayBeInMaintenance }: CallableApi): CalledNode => {
    return { name: host, at: { host, port }, otherwise: [], isForwarded: false, mayBeInMaintenance };
  };
  if (names.length === 0) return callable.filter(({ isCallable }) => isCallable).map(direct);
  const [endpoint, ...otherwise] =
    context.endpoints.length > 0 ? endpointsToCall(context, callable) : callable.filter(passesOn);
  return names.map(parseEndpoint).flatMap((address) => {
    const api = callable.find(isAt(address));
    if (api?.isCallable) return [direct(api)];
    // A machine that answers wrongly is not called through another one. Endpoints pass calls on to apid's own port only.
    if (endpoint === undefined || api?.isReached || address.port !== APID_PORT) return [];
    return [
      {
        name: address.host,
        at: endpoint,
        otherwise,
        isForwarded: true,
        mayBeInMaintenance: false,
      } as const,
    ];
  });
}

/** Selects the endpoints that can be called: talosctl sends every call through one of them. */
export function endpointsToCall({ endpoints }: TalosContext, callable: readonly CallableApi[]): ApidAddress[] {
  return endpoints.map(parseEndpoint).filter((address) => {
    const api = callable.find(isAt(address));
    return api !== undefined && passesOn(api);
  });
}

/** Whether it may pass calls on. A worker does not, which only a call shows. */
function passesOn({ isCallable, mayBeInMaintenance }: CallableApi): boolean {
  return isCallable && !mayBeInMaintenance;
}
