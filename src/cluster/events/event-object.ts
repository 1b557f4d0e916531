import { namespaceOf, printableWithin } from '../../kubernetes/event.ts';
import { microTime } from '../../kubernetes/text.ts';
import type { EventSeries } from './event-series.ts';

export const REPORTING_CONTROLLER = 'taintkeeper.dev/taintkeeper';

/** ReportingInstanceLengthLimit of k8s.io/kubernetes/pkg/apis/core/validation/events.go. */
const INSTANCE_MAX_BYTES = 128;

/** An Event (events.k8s.io/v1) that shows the series as it stands. */
export function eventObject(series: EventSeries, uid: string | undefined, identity: string): object {
  const { event, firstAt, count, name } = series;
  const { regarding, type, reason, action, note } = event;
  return {
    apiVersion: 'events.k8s.io/v1',
    kind: 'Event',
    metadata: { namespace: namespaceOf(regarding), name },
    eventTime: microTime(firstAt),
    reportingController: REPORTING_CONTROLLER,
    reportingInstance: printableWithin(identity, INSTANCE_MAX_BYTES),
    regarding: { ...regarding, ...(uid === undefined ? {} : { uid }) },
    type,
    reason,
    action,
    note,
    ...(count > 1 ? seriesOf(series) : {}),
  };
}

/** The part that changes: from the second time on an Event has a series. */
export function seriesOf({ count, lastAt }: EventSeries): object {
  return { series: { count, lastObservedTime: microTime(lastAt) } };
}
