import { mkdir, stat } from 'node:fs/promises';
import { dirname } from 'node:path';

/**
 * Creates the directory and its parents if they do not exist, as `mkdir -p` does. Node.js' own function never ends on a file system that creates no
 * directories and reports that there is none, as /proc does.
 * @throws the errors of mkdir and stat, such as EACCES; EEXIST or ENOTDIR where a file is in the way
 */
export async function makeDirectory(path: string): Promise<void> {
  if (await isDirectory(path)) return;
  await makeDirectory(dirname(path));
  try {
    await mkdir(path);
  } catch (error) {
    // Another process may have created it.
    if (!(await isDirectory(path))) throw error;
  }
}

async function isDirectory(path: string): Promise<boolean> {
  try {
    return (await stat(path)).isDirectory();
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code === 'ENOENT') return false;
    throw error;
  }
}
