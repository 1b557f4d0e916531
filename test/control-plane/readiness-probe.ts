import { Agent, get } from 'node:http';
import { setTimeout as delay } from 'node:timers/promises';

/** How readiness is asked, in the words of a pod's `readinessProbe`. */
export interface ProbeOptions {
  /** The kubelet's least period is 1 s. Tests have less time. */
  periodMs: number;
  timeoutMs: number;
  /** So many failures in a row make a ready backend unready; one success makes it ready. */
  failureThreshold: number;
}

/** A probe that goes on until it is stopped. */
export interface ReadinessProbe {
  readonly ready: boolean;
  stop(): void;
}

/** Asks again and again, as the kubelet does, whether `url` answers with a status from 200 to 399. */
export function probeReadiness(url: string, options: ProbeOptions): ReadinessProbe {
  const stopping = new AbortController();
  let ready = false;

  async function run(): Promise<void> {
    let failures = 0;
    while (!stopping.signal.aborted) {
      const success = await ask(url, AbortSignal.any([stopping.signal, AbortSignal.timeout(options.timeoutMs)]));
      failures = success ? 0 : failures + 1;
      if (success) ready = true;
      else if (failures >= options.failureThreshold) ready = false;
      await delay(options.periodMs, undefined, { signal: stopping.signal }).catch(() => {});
    }
    ready = false;
  }

  void run();
  return {
    get ready() {
      return ready;
    },
    stop: () => stopping.abort(),
  };
}

/** Each on a connection of its own, like the kubelet's: a kept one would outlive what it is to find out. */
const connections = new Agent({ keepAlive: false });

function ask(url: string, signal: AbortSignal): Promise<boolean> {
  return new Promise((resolve) => {
    get(url, { agent: connections, signal }, (response) => {
      response.resume();
      const status = response.statusCode ?? 0;
      resolve(status >= 200 && status < 400);
    }).on('error', () => resolve(false));
  });
}
