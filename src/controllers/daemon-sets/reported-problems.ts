import { isDeepStrictEqual } from 'node:util';
import type { Logger } from 'pino';
import type { RecordedEvent } from '../../policy/reporting/recorded-event.ts';
import type { ReportedProblem } from '../reports.ts';
import type { EarlierProblems } from './earlier-problems.ts';
import type { DaemonSetProblem } from './patch-problems.ts';
import { daemonSetEvents } from './running-daemon-set.ts';

interface ReportedProblemsOptions {
  readonly earlier: EarlierProblems;
  readonly recordEvent: (event: RecordedEvent) => void;
  readonly log: Pick<Logger, 'warn'>;
  /** Called after the problems have changed. */
  readonly onChange: () => void;
}

/** The problems of DaemonSets for the status of policies. The log and Events report each of them once, when it begins. */
export interface ReportedProblems {
  current(): readonly ReportedProblem[];
  /**
   * @param found all problems that there are now
   * @param mayRepeat whether the earlier leader may have reported a problem
   */
  report(found: readonly DaemonSetProblem[], mayRepeat: boolean): void;
}

export function reportedProblems({ earlier, recordEvent, log, onChange }: ReportedProblemsOptions): ReportedProblems {
  let problems: readonly ReportedProblem[] = [];
  return {
    current: () => problems,
    report(found, mayRepeat) {
      const before = new Set(problems.map(textOf));
      const after = found.map(
        ({ kind, policy, reason, message }): ReportedProblem => ({ kind, policy, reason, message }),
      );
      if (isDeepStrictEqual(problems, after)) return;
      problems = after;
      for (const problem of found) {
        if (before.has(textOf(problem))) continue;
        log.warn(textOf(problem));
        // Each process has its own log, but Events stay.
        if (mayRepeat && earlier.take(problem)) continue;
        const { daemonSet, policy, reason, note } = problem;
        const wording = { type: 'Warning', reason, action: 'LeaveAlone' } as const;
        for (const event of daemonSetEvents(daemonSet, [policy], wording, () => note)) recordEvent(event);
      }
      onChange();
    },
  };
}

function textOf({ kind, policy, message }: ReportedProblem): string {
  return `${kind} ${policy}: ${message}`;
}
