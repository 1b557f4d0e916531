import { type DestinationStream, type Logger, type LoggerOptions, pino } from 'pino';
import { InputError } from '../../files/input-error.ts';
import { usesColors } from '../output/look.ts';

const LEVELS = ['trace', 'debug', 'info', 'warn', 'error', 'fatal', 'silent'];

/**
 * Logs to stdout: lines for people on a terminal, in colours if it {@link usesColors | has them}, and a JSON object a line
 * otherwise. LOG_LEVEL sets the level (default `info`).
 * @throws InputError for an unknown level
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

/** Logs warnings of the process. By default Node.js prints them as text, which mixes with the JSON lines of a container's log. */
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
      // The message of a violation has these fields.
      ignore: 'uid,operation,kind,name,user,policyKind,policy,fields,mode,change,result,audit,subjects',
    }),
  );
}

/** `stdTimeFunctions.isoTime` takes a sixth of the time of a line. This one caches its text for a millisecond. */
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

/** A batch is written when it has so many characters, or after so many milliseconds. */
const BATCH_CHARACTERS = 8_192;
const BATCH_MS = 500;

/**
 * Writes lines in batches: a write for each line was a sixth of the cost of a patched DaemonSet. The last batch is written before the process
 * ends, except after SIGKILL.
 */
function inBatches(fd: number): DestinationStream & { flushSync(): void } {
  // sonic-boom's own batches measure all waiting lines at each line.
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
    // pino calls it after a line of level fatal.
    flushSync,
  };
}
