const FETCH_FAILURE = /(?<module>\S+@v[^\s:]+): (?:reading |Get )"?https?:\/\/[^\s"]+"?: (?<words>.*)$/;
const NOT_SERVED = /^(?:403|404|410)\b/;

/**
 * Why `go` failed, in one line: what the module proxy said of the first module that it did not give, else the first thing that Go
 * complained of.
 *
 * @param stderr all that go has printed there
 */
export function whyGoFailed(stderr: string): string {
  const lines = stderr
    .split('\n')
    .map((line) => line.trim())
    .filter((line) => line !== '' && !line.startsWith('go: downloading ') && !line.startsWith('# '));
  for (const [index, line] of lines.entries()) {
    const { module, words = '' } = FETCH_FAILURE.exec(line)?.groups ?? {};
    if (!module) continue;
    const answer = /^server response: (.*)$/.exec(lines[index + 1] ?? '')?.[1];
    const word = answer ? `${words}: ${answer}` : words;
    return NOT_SERVED.test(words)
      ? `${module} is not served by the module proxy (${word})`
      : `${module} cannot be fetched (${word})`;
  }
  return lines[0] ?? 'it said nothing';
}
