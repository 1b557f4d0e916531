import { stat } from 'node:fs/promises';

/** A second matters little for policies and certificates; a look costs a few system calls. */
const POLL_INTERVAL_MS = 500;

export interface FileWatch {
  stop(): void;
}

/**
 * Calls `onChange` after any of the files changed, came or went since this function was done. It looks at the files at an
 * interval and follows links: that also sees a mounted ConfigMap or Secret, whose files are replaced through a link, and
 * network file systems, both of which file system events miss. A change counts once two looks found the same: a file that
 * is being written may be empty, or whole up to the end of a document. A watch alone does not keep the process alive.
 *
 * @param list names the files, anew each time, so that a directory's new files count; if it fails, that is a state, too
 * @param onChange is never called again before it has ended, and must not fail
 * @param since what {@link fingerprint} said before the files were read, so that no change falls in between
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

/** The state of the files: another text whenever one of them changed, came or went. */
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
