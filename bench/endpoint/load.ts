import { execFile } from 'node:child_process';
import { join } from 'node:path';
import { promisify } from 'node:util';
import type { Expected } from './reviews.ts';

const GENERATOR = join(import.meta.dirname, 'load-generator.ts');

/** One burst of requests: as fast as the server answers, over connections that are kept. */
export interface Load {
  readonly port: number;
  /** The server's process. */
  readonly pid: number;
  readonly caFile: string;
  /** The whole request as it is sent, HTTP head and body. */
  readonly requestFile: string;
  /** What every answer must say; undefined for a server that knows no rules. */
  readonly expected?: Expected | undefined;
  readonly connections: number;
  readonly seconds: number;
}

export interface Measured {
  readonly requests: number;
  readonly cpuSecondsPerThousand: number;
  readonly requestsPerSecond: number;
  /** Latency in milliseconds. */
  readonly p50: number;
  readonly p99: number;
}

/**
 * Measures one burst, from a process of its own: it must not be measured with the server, nor wait for what else the bench does.
 * @throws Error for an answer that is not as expected, and a connection that ends
 */
export async function measure(load: Load): Promise<Measured> {
  const { stdout } = await promisify(execFile)(process.execPath, [GENERATOR, JSON.stringify(load)]);
  return JSON.parse(stdout) as Measured;
}
