import { readFileSync } from 'node:fs';

/** USER_HZ: the same on every Linux that Node.js runs on. */
const TICKS_PER_SECOND = 100;

/** CPU time of a process until now with all of its threads, user and system, in seconds: proc_pid_stat(5). Linux only. */
export function cpuSecondsOf(pid: number): number {
  const stat = readFileSync(`/proc/${pid}/stat`, 'utf8');
  // The second field is the program's name in parentheses, and may hold anything; utime and stime are the 14th and 15th.
  const [utime, stime] = stat
    .slice(stat.lastIndexOf(')') + 2)
    .split(' ')
    .slice(11, 13);
  return (Number(utime) + Number(stime)) / TICKS_PER_SECOND;
}
