import type { X509Certificate } from 'node:crypto';
import { parseCertificates } from '../../certs/bundle.ts';
import { uncoveredNames } from '../../certs/certificate-names.ts';
import { signerOf } from '../../certs/chain.ts';
import { invalidAt } from '../../certs/inspect.ts';
import type { TalosContext } from '../../talos/talosconfig.ts';
import type { ConnectionFault } from '../facts/dial.ts';
import type { ApidAnswer, DialledApi } from './dial-apid.ts';

/** An address that was dialled, and what its answer shows by the context. */
export interface JudgedApi extends DialledApi {
  readonly judgement: ApiJudgement;
}

/** What an address shows. The first that holds, in this order. */
export type ApiJudgement =
  | { readonly is: 'unreached'; readonly fault: ConnectionFault }
  /** It refuses our client certificate, in the words of TLS. */
  | { readonly is: 'refusing'; readonly said: string }
  | { readonly is: 'not comparable' }
  /**
   * An unknown CA issued its certificate. It accepts ours nevertheless if it is Talos in maintenance mode, which asks for none. So do other
   * services, and a machine whose CA is being replaced.
   */
  | { readonly is: 'of another CA'; readonly leaf: X509Certificate; readonly acceptsUs: boolean }
  | { readonly is: 'not valid now'; readonly leaf: X509Certificate; readonly reason: string }
  | { readonly is: 'of another name'; readonly leaf: X509Certificate }
  | { readonly is: 'trusted'; readonly leaf: X509Certificate };

/** Compares what an address answered with the context. */
export function judgeApi(api: DialledApi, context: TalosContext, now: Date): JudgedApi {
  return { ...api, judgement: judgementOf(api.answer, api.host, context, now) };
}

function judgementOf(answer: ApidAnswer, host: string, { ca, crt }: TalosContext, now: Date): ApiJudgement {
  if (answer.outcome === 'failed') {
    const { fault } = answer;
    const isRefusal = fault.kind === 'certificate' || fault.kind === 'stranger';
    return isRefusal ? { is: 'refusing', said: fault.message } : { is: 'unreached', fault };
  }
  const { leaf, refusal } = answer;
  if (ca === undefined) return { is: 'not comparable' };
  if (!signerOf(leaf, parseCertificates(ca))) {
    return { is: 'of another CA', leaf, acceptsUs: refusal === undefined && crt !== undefined };
  }
  const reason = invalidAt(leaf, now);
  if (reason !== undefined) return { is: 'not valid now', leaf, reason };
  if (uncoveredNames(leaf, [host]).length > 0) return { is: 'of another name', leaf };
  return refusal === undefined ? { is: 'trusted', leaf } : { is: 'refusing', said: refusal };
}
