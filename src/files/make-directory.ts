import { mkdir, stat } from 'node:fs/promises';
import { dirname } from 'node:path';

/**
 * Makes the directory and those above it, unless they are there, as `mkdir -p` does. Node.js' own way to do that never ends where a
 * file system makes no directories and says that there is none, as /proc does.
 * @throws the errors of mkdir and stat, such as EACCES; EEXIST or ENOTDIR where a file is in the way
 */
export async function makeDirectory(path: string): Promise<void> {
  if (await isDirectory(path)) return;
  await makeDirectory(dirname(path));
  try {
    await mkdir(path);
  } catch (error) {
    // Somebody else may have been quicker.
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
