import { readdirSync, readFileSync } from 'node:fs';

/**
 * CPU time of a process' threads until now, user and system, in seconds. `/proc/PID/stat` has it in steps of 10 ms, which is a tenth of what
 * a server uses in a short burst. Linux only.
 */
export function cpuSecondsOf(pid: number): number {
  const threads = readdirSync(`/proc/${pid}/task`);
  // The first field is the time on a CPU in nanoseconds (Documentation/scheduler/sched-stats.rst of Linux).
  const nanoseconds = threads.map((thread) => {
    const [onCpu] = readFileSync(`/proc/${pid}/task/${thread}/schedstat`, 'utf8').split(' ');
    return Number(onCpu);
  });
  return nanoseconds.reduce((sum, one) => sum + one, 0) / 1e9;
}
