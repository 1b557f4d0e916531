import { InvalidArgumentError } from 'commander';

const MAX_PORT = 65_535;

/** @throws InvalidArgumentError */
export function parsePort(text: string): number {
  const port = Number(text);
  if (/^\d+$/.test(text) && port <= MAX_PORT) return port;
  throw new InvalidArgumentError(`Expected a port from 0 to ${MAX_PORT}.`);
}
