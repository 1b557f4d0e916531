import { readFileSync, writeFileSync } from 'node:fs';

/** Resident memory of a process, in MiB. */
export interface Memory {
  readonly now: number;
  /** The most since the process began, or since {@link forgetPeak}. */
  readonly peak: number;
}

const KIB_PER_MIB = 1024;

/** From /proc/PID/status, proc_pid_status(5). Linux only. */
export function memoryOf(pid: number): Memory {
  const status = readFileSync(`/proc/${pid}/status`, 'utf8');
  const mib = (field: string) => Number(new RegExp(`^${field}:\\s+(\\d+) kB$`, 'm').exec(status)?.[1]) / KIB_PER_MIB;
  return { now: mib('VmRSS'), peak: mib('VmHWM') };
}

/** Makes the memory of now the peak: 5 resets VmHWM, proc_pid_clear_refs(5). */
export function forgetPeak(pid: number): void {
  writeFileSync(`/proc/${pid}/clear_refs`, '5');
}
