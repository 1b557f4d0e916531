import type { Logger } from 'pino';
import type { PolicySnapshot } from '../../cluster/policies/policies.ts';
import { webhookEntries } from '../../webhooks/webhook-entries.ts';
import type { WebhookEntry } from '../../webhooks/webhook-entry.ts';

/** The API server compiles every expression of a configuration that is written, and requests wait for it. */
const MIN_INTERVAL_MS = 2_000;

/** The webhooks that the policies of a snapshot need. */
export interface NeededEntries {
  readonly entries: readonly WebhookEntry[];
  readonly from: PolicySnapshot;
}

/** The webhooks that the policies need. They follow the policies with a delay: many changes in a row result in few writes. */
export interface FollowedEntries {
  current(): NeededEntries;
  /** In how many milliseconds {@link current} may take up a change of the policies. */
  dueInMs(): number;
}

/** @param audit takes every policy to be in mode Audit */
export function followPolicies(latest: () => PolicySnapshot, audit: boolean, log: Logger): FollowedEntries {
  let lastWarning = '';
  let needed = neededBy(latest());
  let notBefore = 0;

  return {
    current() {
      if (needed.from !== latest() && performance.now() >= notBefore) {
        needed = neededBy(latest());
        notBefore = performance.now() + MIN_INTERVAL_MS;
      }
      return needed;
    },
    dueInMs: () => Math.max(0, notBefore - performance.now()),
  };

  function neededBy(from: PolicySnapshot): NeededEntries {
    const entries = webhookEntries(from.policies, { audit });
    warnOfWidened(entries);
    return { entries, from };
  }

  function warnOfWidened(entries: readonly WebhookEntry[]): void {
    const widened = entries.flatMap(({ name, widened }) => (widened ? [`${name} (${widened})`] : []));
    const warning = widened.join(', ');
    if (warning !== lastWarning && warning !== '')
      log.warn(`webhooks that are called more often than necessary: ${warning}`);
    lastWarning = warning;
  }
}
