import { readdirSync, readlinkSync } from 'node:fs';
import { memoryOf } from '../../bench/process-memory.ts';
import type { ControlPlane } from '../control-plane/control-plane.ts';
import type { Replica } from '../control-plane/replicas.ts';
import { admin } from '../control-plane/users.ts';

/** What a process holds at one moment. */
export interface VitalSigns {
  readonly atSeconds: number;
  readonly rssMib: number;
  readonly heapMib: number;
  /** Open sockets, and all open files. */
  readonly sockets: number;
  readonly files: number;
  readonly timers: number;
}

export async function vitalSignsOf(replica: Replica, atSeconds: number): Promise<VitalSigns> {
  const folder = `/proc/${replica.pid}/fd`;
  const files = readdirSync(folder);
  const sockets = files.filter((file) => {
    try {
      return readlinkSync(`${folder}/${file}`).startsWith('socket:');
    } catch {
      // Closed meanwhile.
      return false;
    }
  });
  const metrics = await replica.metrics();
  return {
    atSeconds,
    rssMib: memoryOf(replica.pid).now,
    heapMib: sumOf(metrics, /^nodejs_heap_size_used_bytes (\S+)$/gm) / 1024 ** 2,
    sockets: sockets.length,
    files: files.length,
    timers: sumOf(metrics, /^nodejs_active_resources\{type="Timeout"\} (\S+)$/gm),
  };
}

/** How many watches the API server holds open, whosever they are: the same number as long as nobody leaks any. */
export async function openWatches(cp: ControlPlane): Promise<number> {
  const { body } = await cp.request<string>(admin, 'GET', '/metrics');
  return sumOf(body, /^apiserver_longrunning_requests\{[^}]*verb="WATCH"[^}]*\} (\S+)$/gm);
}

/** By how much the values grow in an hour, by linear regression (least squares). */
export function slopePerHour(points: readonly { readonly atSeconds: number; readonly value: number }[]): number {
  const mean = (values: readonly number[]) => values.reduce((sum, value) => sum + value, 0) / values.length;
  const meanAt = mean(points.map(({ atSeconds }) => atSeconds));
  const meanValue = mean(points.map(({ value }) => value));
  let covariance = 0;
  let variance = 0;
  for (const { atSeconds, value } of points) {
    covariance += (atSeconds - meanAt) * (value - meanValue);
    variance += (atSeconds - meanAt) ** 2;
  }
  return variance === 0 ? 0 : (covariance / variance) * 3_600;
}

function sumOf(metrics: string, series: RegExp): number {
  let sum = 0;
  for (const [, value] of metrics.matchAll(series)) sum += Number(value);
  return sum;
}
