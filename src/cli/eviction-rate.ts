import { InvalidArgumentError } from 'commander';
import { MAX_EVICTION_RATE } from '../policy/eviction-pace.ts';

/**
 * Nodes a second; small ones may come as Helm writes them, such as 1e-05.
 * @throws InvalidArgumentError
 */
export function parseEvictionRate(text: string): number {
  const rate = Number(text);
  if (/^\d+(\.\d+)?(e-?\d+)?$/i.test(text) && rate <= MAX_EVICTION_RATE) return rate;
  throw new InvalidArgumentError(`Expected nodes a second from 0 to ${MAX_EVICTION_RATE}, such as 0.1.`);
}
