import {
  type ConfigurationPhase,
  type Configurations,
  caBundlesOf,
  casStayForMs,
  readConfigurations,
  type WebhookConfiguration,
} from '../../cluster/admission-registration/webhook-configurations.ts';
import type { ApiClient } from '../../cluster/client/api-client.ts';
import { PHASES } from '../../judge/decision.ts';

/**
 * Both configurations as the API server has them: as last read, or as it answered a write since. The watch may be behind by most of a minute while its
 * connection is broken. What is written and reported therefore depends on these, and the watch says only when to read them.
 */
export interface StoredConfigurations {
  /**
   * Reads both.
   * @throws ApiError, Error
   */
  read(): Promise<void>;
  get(phase: ConfigurationPhase): WebhookConfiguration | undefined;
  /** The `caBundle` of every webhook, PEM; empty where a webhook has none. */
  caBundles(): string[];
  /** See {@link casStayForMs}, of the configuration in which they stay longest. */
  casStayForMs(now: Date, overlapMs: number): number;
  /** @param answer as the API server answered the write; undefined after a deletion */
  written(phase: ConfigurationPhase, answer: WebhookConfiguration | undefined): void;
}

export function storedConfigurations(client: Pick<ApiClient, 'request'>): StoredConfigurations {
  let stored: Configurations = { mutate: undefined, validate: undefined };
  return {
    async read() {
      stored = await readConfigurations(client);
    },
    get: (phase) => stored[phase],
    caBundles: () => PHASES.flatMap((phase) => caBundlesOf(stored[phase])),
    casStayForMs: (now, overlapMs) =>
      Math.max(0, ...Object.values(stored).map((one) => (one ? casStayForMs(one, now, overlapMs) : 0))),
    written(phase, answer) {
      stored = { ...stored, [phase]: answer };
    },
  };
}
