import { InputError } from '../../files/input-error.ts';
import { parseTalosDocuments } from '../../talos/document-values.ts';
import { parseEndpoint } from '../../talos/endpoint.ts';
import { type MachineConfiguration, readMachineConfiguration } from '../../talos/machine-configuration.ts';
import type { TalosContext } from '../../talos/talosconfig.ts';
import type { CheckResult } from '../check.ts';
import { runChecks } from '../run-checks.ts';
import type { askTalos, TalosAnswers } from './ask-apid.ts';
import type { CallResult } from './call-result.ts';
import { identityOf, judgeClient } from './client-certificate.ts';
import { type DialledApi, dialApid, isAt } from './dial-apid.ts';
import { judgeApi } from './judged-api.ts';
import { callableApis, endpointsToCall, nodesToCall } from './nodes-to-call.ts';
import { ownClock } from './own-clock.ts';
import { talosChecks } from './talos-checks.ts';
import type { DesiredConfiguration } from './talos-facts.ts';

/**
 * Dials the endpoints of the context and the named nodes, calls those that can be called, and checks what they answer.
 * @param named on the command line
 */
export async function examine(
  context: TalosContext,
  named: readonly string[],
  desired: DesiredConfiguration | undefined,
  timeoutMs: number,
): Promise<CheckResult[]> {
  const identity = identityOf(context);
  const parsed = [...context.endpoints, ...named].map(parseEndpoint);
  const addresses = parsed.filter((one, index) => parsed.findIndex(isAt(one)) === index);
  const dialled = await Promise.all(
    addresses.map(async (address): Promise<DialledApi> => {
      return { ...address, answer: await dialApid(address, identity, timeoutMs) };
    }),
  );
  const now = new Date();
  const client = judgeClient(context, now);
  const judged = dialled.map((api) => judgeApi(api, context, now));
  const callable = callableApis(context, client, judged);
  const nodes = nodesToCall(context, named, callable);
  const endpoints = endpointsToCall(context, callable);
  const calling = { ca: context.ca, identity, timeoutMs, readsConfiguration: desired !== undefined };
  const answers =
    nodes.length === 0 && endpoints.length === 0 ? NO_ANSWERS : await answersOf(nodes, endpoints, calling);
  const facts = { context, client, clock: ownClock(context, dialled, now), apis: judged, answers, desired, now };
  return runChecks(talosChecks(facts), facts);
}

const NO_ANSWERS: TalosAnswers = { nodes: [], workers: [] };

/** gRPC is loaded only here. */
async function answersOf(...args: Parameters<typeof askTalos>): Promise<TalosAnswers> {
  const { askTalos } = await import('./ask-apid.ts');
  const { nodes, workers } = await askTalos(...args);
  const read = nodes.map((answer) => {
    const { name, configuration } = answer;
    return { ...answer, configuration: configuration?.ok ? parsed(configuration.value, name) : configuration };
  });
  return { nodes: read, workers };
}

/** Errors do not quote the text, which has secrets. */
function parsed(text: string, node: string): CallResult<MachineConfiguration> {
  try {
    const source = `the configuration of ${node}`;
    return { ok: true, value: readMachineConfiguration(parseTalosDocuments(text, source), source) };
  } catch (error) {
    if (!(error instanceof InputError)) throw error;
    return { ok: false, fault: 'garbled', message: error.faults[0] ?? '' };
  }
}
