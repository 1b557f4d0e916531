import { Writable } from 'node:stream';
import { type Logger, pino } from 'pino';

/** One line of the log, parsed. */
export type LogLine = { level: number | string; msg: string; [field: string]: unknown };

export const LEVEL = { debug: 20, info: 30, warn: 40, error: 50 } as const;

/** A logger whose lines can be looked at, at the level that production starts with unless told otherwise. */
export function captureLog(level: 'info' | 'debug' = 'info'): { log: Logger; text(): string; lines(): LogLine[] } {
  const chunks: string[] = [];
  const sink = new Writable({
    write(chunk, _encoding, done) {
      chunks.push(String(chunk));
      done();
    },
  });
  const text = () => chunks.join('');
  return {
    log: pino({ level, base: null }, sink),
    text,
    lines: () =>
      text()
        .split('\n')
        .filter((line) => line !== '')
        .map((line) => JSON.parse(line) as LogLine),
  };
}
