import { stat } from 'node:fs/promises';

/** Policies and certificates may take effect a second late. A check costs a few system calls. */
const POLL_INTERVAL_MS = 500;

export interface FileWatch {
  stop(): void;
}

/**
 * Calls `onChange` after any of the files changed, appeared or disappeared since this call. It checks the files at an interval and follows links. So
 * it also sees changes of a mounted ConfigMap or Secret, whose files are replaced through a link, and of network file systems. File system events
 * miss both. A change counts once two checks found the same: a file that is being written may be empty, or end within a document. A watch alone does
 * not keep the process alive.
 *
 * @param list returns the names of the files each time, so that new files of a directory count. Its failure is a state, too
 * @param onChange is never called again before it has ended, and must not fail
 * @param since the result of {@link fingerprint} before the files were read, so that no change is missed
 */
export async function watchFiles(
  list: () => Promise<readonly string[]>,
  onChange: () => Promise<void>,
  intervalMs = POLL_INTERVAL_MS,
  since?: string,
): Promise<FileWatch> {
  let last = since ?? (await fingerprint(list));
  let handled = last;
  let timer: NodeJS.Timeout;
  let stopped = false;

  const look = async () => {
    const found = await fingerprint(list);
    const isUnchanged = found === last;
    last = found;
    if (isUnchanged && found !== handled && !stopped) {
      handled = found;
      await onChange();
    }
    if (!stopped) timer = setTimeout(look, intervalMs).unref();
  };
  timer = setTimeout(look, intervalMs).unref();

  return {
    stop() {
      stopped = true;
      clearTimeout(timer);
    },
  };
}

/** The state of the files: a text that differs whenever one of them changed, appeared or disappeared. */
export async function fingerprint(list: () => Promise<readonly string[]>): Promise<string> {
  try {
    const states = (await list()).map(async (file) => {
      const found = await stat(file, { bigint: true }).catch(() => undefined);
      return found ? `${file} ${found.ino} ${found.size} ${found.mtimeNs}` : `${file} -`;
    });
    return (await Promise.all(states)).join('\n');
  } catch (error) {
    return `cannot list: ${(error as Error).message}`;
  }
}
