import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { text } from 'node:stream/consumers';
import { describe, expect, it, onTestFinished } from 'vitest';
import { runScript } from '../run-command.ts';

const LOGGER = new URL('../../../../src/cli/serve/logger.ts', import.meta.url).href;

/** What the logger prints of these calls, each `[level, fields, message]`. */
async function logged(terminal: boolean, calls: [level: string, fields: object, message: string][]): Promise<string[]> {
  const { stdout, stderr, code } = await runScript(
    `
    process.stdout.isTTY = ${terminal};
    const { createLogger } = await import(${JSON.stringify(LOGGER)});
    const log = await createLogger();
    for (const [level, fields, message] of ${JSON.stringify(calls)}) log[level](fields, message);
    `,
    { env: { NO_COLOR: '1', LOG_LEVEL: 'info', TZ: 'UTC' } },
  );
  expect([code, stderr]).toEqual([0, '']);
  return stdout.split('\n').slice(0, -1);
}

const VIOLATION = {
  uid: 'u',
  operation: 'UPDATE',
  kind: 'Node',
  name: 'cp-1',
  user: 'dev',
  policyKind: 'TaintPolicy',
  policy: 'p',
  fields: ['spec.taints[0]'],
  mode: 'Deny',
  ...{ change: 'Removal', result: 'Denied', audit: false },
  subjects: ['a:NoSchedule'],
};

it('on a terminal, a line has date, time, level, message, and the fields that the message does not say', async () => {
  const lines = await logged(true, [
    ['info', { url: 'https://127.0.0.1:1' }, 'serving'],
    ['warn', VIOLATION, 'denied a:NoSchedule'],
    ['debug', {}, 'not at this level'],
  ]);

  expect(lines).toEqual([
    expect.stringMatching(/^\[\d{4}-\d\d-\d\d \d\d:\d\d:\d\d\] INFO: serving \{"url":"https:\/\/127\.0\.0\.1:1"\}$/),
    expect.stringMatching(/^\[\d{4}-\d\d-\d\d \d\d:\d\d:\d\d\] WARN: denied a:NoSchedule$/),
  ]);
});

it('elsewhere, a line is a JSON object with every field', async () => {
  const [line = '', ...others] = await logged(false, [['warn', VIOLATION, 'denied a:NoSchedule']]);

  expect(others).toEqual([]);
  expect(JSON.parse(line)).toEqual({
    level: 'warn',
    time: expect.stringMatching(/^\d{4}-\d\d-\d\dT[\d:.]+Z$/),
    ...VIOLATION,
    msg: 'denied a:NoSchedule',
  });
});

describe('lines that wait for others are written', () => {
  const script = (end: string) => `
    const { createLogger } = await import(${JSON.stringify(LOGGER)});
    const log = await createLogger();
    log.info('the last line');
    ${end}
  `;

  it.each([
    ['ends by itself', '', 0],
    ['exits', 'process.exit(3);', 3],
    ['fails', 'throw new Error("a fault");', 1],
    ['fails later', 'setImmediate(() => { throw new Error("a fault"); });', 1],
  ])('when the process %s', async (_way, end, code) => {
    const result = await runScript(script(end));
    expect(result.code).toBe(code);
    expect(result.stdout).toContain('"msg":"the last line"');
  });

  it('in their order, over many batches', async () => {
    const { stdout } = await runScript(script('for (let i = 0; i < 500; i++) log.info("line " + i);'));
    const lines = stdout.split('\n').slice(0, -1);
    expect(lines.slice(1).map((line) => JSON.parse(line).msg)).toEqual(
      Array.from({ length: 500 }, (_, i) => `line ${i}`),
    );
  });

  it('at once when a line is fatal', async () => {
    const child = spawn(process.execPath, [
      '--input-type=module',
      '--eval',
      script('log.fatal("a fault"); process.kill(process.pid, "SIGKILL");'),
    ]);
    const [stdout] = await Promise.all([text(child.stdout), once(child, 'close')]);
    expect(
      stdout
        .split('\n')
        .slice(0, -1)
        .map((line) => JSON.parse(line).msg),
    ).toEqual(['the last line', 'a fault']);
  });

  it('while it goes on', async () => {
    const child = spawn(process.execPath, ['--input-type=module', '--eval', script('setInterval(() => {}, 60_000);')]);
    onTestFinished(() => void child.kill());
    const [written] = await once(child.stdout, 'data');
    expect(String(written)).toContain('"msg":"the last line"');
  });

  it('or are lost if no process reads them, without an error', async () => {
    const child = spawn(process.execPath, [
      '--input-type=module',
      '--eval',
      script('for (let i = 0; i < 1_000; i++) log.info("more");'),
    ]);
    child.stdout.destroy();
    const stderr: Buffer[] = [];
    child.stderr.on('data', (chunk) => stderr.push(chunk));
    expect(await once(child, 'close')).toEqual([0, null]);
    expect(Buffer.concat(stderr).toString()).toBe('');
  });
});

it('a warning of Node.js is a line of the log, and not text beside it', async () => {
  const { stdout, stderr } = await runScript(
    `
    const { createLogger } = await import(${JSON.stringify(LOGGER)});
    await createLogger();
    setTimeout(() => {}, -5);
    `,
  );
  expect(stderr).toBe('');
  expect(
    stdout
      .trimEnd()
      .split('\n')
      .map((line) => JSON.parse(line)),
  ).toEqual([
    expect.objectContaining({ level: 'warn', msg: expect.stringMatching(/^Node\.js: TimeoutNegativeWarning: -5 /) }),
  ]);
});
