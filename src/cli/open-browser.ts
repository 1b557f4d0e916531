import { spawn } from 'node:child_process';

/** The program of each platform that opens a URL; `start` is one of cmd's own commands, whose first argument is a title. */
const OPENERS: Partial<Record<NodeJS.Platform, readonly [string, ...string[]]>> = {
  darwin: ['open'],
  win32: ['cmd', '/c', 'start', ''],
};
const OTHERS = ['xdg-open'] as const;

/** Shows the URL in the user's browser, where there is one. Nobody is told if not: the URL is printed anyway. */
export function openBrowser(url: string, platform: NodeJS.Platform = process.platform): void {
  const [program, ...args] = OPENERS[platform] ?? OTHERS;
  const opener = spawn(program, [...args, url], { stdio: 'ignore', detached: true });
  opener.once('error', () => {});
  opener.unref();
}
