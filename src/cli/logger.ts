import { type DestinationStream, type Logger, type LoggerOptions, pino, stdTimeFunctions } from 'pino';
import pretty from 'pino-pretty';
import { InputError } from '../files/text-files.ts';
import { usesColors } from './output.ts';

const LEVELS = ['trace', 'debug', 'info', 'warn', 'error', 'fatal', 'silent'];

/**
 * Logs to stdout: lines for people on a terminal, in colours if it {@link usesColors | has them}, and a JSON object a line
 * otherwise. LOG_LEVEL sets the level (default `info`).
 * @throws InputError for a level that there is not
 */
export function createLogger(): Logger {
  const level = process.env.LOG_LEVEL || 'info';
  if (!LEVELS.includes(level)) throw new InputError([`LOG_LEVEL ${level}: expected ${LEVELS.join(', ')}`]);
  const options: LoggerOptions = {
    level,
    base: null,
    timestamp: stdTimeFunctions.isoTime,
    formatters: { level: (label) => ({ level: label }) },
  };
  if (!process.stdout.isTTY) return pino(options, inBatches(process.stdout.fd));
  return pino(
    options,
    pretty({
      colorize: usesColors(process.stdout),
      translateTime: 'SYS:yyyy-mm-dd HH:MM:ss',
      singleLine: true,
      sync: true,
      // What the message of a violation says already.
      ignore: 'uid,operation,kind,name,user,policyKind,policy,field,mode,outcome,subject',
    }),
  );
}

/** A batch is written when it has so many bytes, and whatever there is after so many milliseconds. */
const BATCH_BYTES = 8_192;
const BATCH_MS = 500;

/**
 * Lines together: a write for each was a sixth of what a patched DaemonSet costs. Whichever way the process ends, what is left is
 * written first, but for SIGKILL.
 */
function inBatches(fd: number): DestinationStream {
  const destination = pino.destination({ fd, sync: true, minLength: BATCH_BYTES, periodicFlush: BATCH_MS });
  process.once('exit', () => destination.flushSync());
  return destination;
}
