import { eventsOf } from '../admission/request-events.ts';
import type { Creations } from '../cluster/events/creations.ts';
import type { EventRecorder } from '../cluster/events/event-recorder.ts';
import type { DecisionLog } from '../page/decision-log.ts';
import type { JudgedCreation, JudgedRequest } from '../server/reviewer.ts';

export interface RequestRecorders {
  readonly events: Pick<EventRecorder, 'record'>;
  readonly creations: Pick<Creations, 'follow'>;
  /** The decisions that the page shows; undefined without a page. */
  readonly decisions: Pick<DecisionLog, 'record' | 'prepare'> | undefined;
}

/**
 * Records judged requests as Events, and for the page: a creation only once the API server has the object. Keeps no object of a request, which may have
 * megabytes.
 */
export function recordRequests({ events, creations, decisions }: RequestRecorders) {
  return {
    onJudged(judged: JudgedRequest): void {
      const { request, judgement, origin } = judged;
      for (const event of eventsOf(request, judgement)) events.record(event, origin);
      decisions?.record(judged);
    },
    onCreation({ object, judged, withoutObject, report }: JudgedCreation): void {
      const { phase, request, judgement, origin } = withoutObject;
      const keepDecision = decisions?.prepare(judged);
      creations.follow({ object, record: phase, origin }, (uid) => {
        report();
        for (const event of eventsOf(request, judgement, uid)) events.record(event, origin);
        keepDecision?.();
      });
    },
  };
}
