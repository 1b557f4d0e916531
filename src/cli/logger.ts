import { type DestinationStream, type Logger, type LoggerOptions, pino } from 'pino';
import { InputError } from '../files/text-files.ts';
import { usesColors } from './output.ts';

const LEVELS = ['trace', 'debug', 'info', 'warn', 'error', 'fatal', 'silent'];

/**
 * Logs to stdout: lines for people on a terminal, in colours if it {@link usesColors | has them}, and a JSON object a line
 * otherwise. LOG_LEVEL sets the level (default `info`).
 * @throws InputError for a level that there is not
 */
export async function createLogger(): Promise<Logger> {
  const level = process.env.LOG_LEVEL || 'info';
  if (!LEVELS.includes(level)) throw new InputError([`LOG_LEVEL ${level}: expected ${LEVELS.join(', ')}`]);
  const options: LoggerOptions = {
    level,
    base: null,
    timestamp: timeField(),
    formatters: { level: (label) => ({ level: label }) },
  };
  const log = process.stdout.isTTY ? await readable(options) : pino(options, inBatches(process.stdout.fd));
  takeWarnings(log);
  return log;
}

/** Node.js prints the warnings of a process as text to stderr, which a container's log has between the JSON lines. */
function takeWarnings(log: Logger): void {
  process.removeAllListeners('warning');
  process.on('warning', ({ name, message }) => log.warn(`Node.js: ${name}: ${message}`));
}

async function readable(options: LoggerOptions): Promise<Logger> {
  const { default: pretty } = await import('pino-pretty');
  return pino(
    options,
    pretty({
      colorize: usesColors(process.stdout),
      translateTime: 'SYS:yyyy-mm-dd HH:MM:ss',
      singleLine: true,
      sync: true,
      // What the message of a violation says already.
      ignore: 'uid,operation,kind,name,user,policyKind,policy,fields,mode,outcome,subjects',
    }),
  );
}

/** `stdTimeFunctions.isoTime`, which takes a sixth of what a line does, but once for the lines of a millisecond. */
function timeField(): () => string {
  let at = 0;
  let field = '';
  return () => {
    const now = Date.now();
    if (now !== at) field = `,"time":"${new Date(now).toISOString()}"`;
    at = now;
    return field;
  };
}

/** A batch is written when it has so many characters, and whatever there is after so many milliseconds. */
const BATCH_CHARACTERS = 8_192;
const BATCH_MS = 500;

/**
 * Lines together: a write for each was a sixth of what a patched DaemonSet costs. Whichever way the process ends, what is left is
 * written first, but for SIGKILL.
 */
function inBatches(fd: number): DestinationStream & { flushSync(): void } {
  // It has batches of its own, but measures all that is waiting at each line.
  const destination = pino.destination({ fd, sync: true });
  let waiting = '';
  function flushSync(): void {
    const batch = waiting;
    waiting = '';
    if (batch !== '') destination.write(batch);
  }
  setInterval(flushSync, BATCH_MS).unref();
  process.once('exit', flushSync);
  return {
    write(line) {
      waiting += line;
      if (waiting.length >= BATCH_CHARACTERS) flushSync();
    },
    // What pino calls after a line of level fatal.
    flushSync,
  };
}
