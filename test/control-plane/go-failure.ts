import { parseMissing } from './pins/missing.ts';

/**
 * Why `go` failed, in one line: what the module proxy said of the first module that it did not give, else the first thing that Go
 * complained of.
 *
 * @param stderr all that go has printed there
 */
export function whyGoFailed(stderr: string): string {
  const [missing] = parseMissing(stderr);
  if (missing) return `${missing.module}@${missing.version} is not served by the module proxy (${missing.word})`;
  const [complaint = 'it said nothing', remedy] = stderr
    .split('\n')
    .map((line) => line.trim())
    .filter((line) => line !== '' && !line.startsWith('go: downloading ') && !line.startsWith('# '));
  // What is to be done about it has a line of its own.
  const whole = complaint.endsWith(':') && remedy ? `${complaint} ${remedy}` : complaint;
  // The address of what could not be fetched says no more than its name does.
  return whole.replace(/(?:reading|Get) "?https?:\/\/\S+: /, '');
}
