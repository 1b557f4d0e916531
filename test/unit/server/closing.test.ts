import { expect, it } from 'vitest';
import { taintRemovalReview } from '../reviews.ts';
import { closed, openTls, readAnswer } from './raw-connections.ts';
import { startServer } from './running-server.ts';

const BODY = JSON.stringify(taintRemovalReview());
const REQUEST = `POST /validate HTTP/1.1\r\nHost: localhost\r\nContent-Type: application/json\r\nContent-Length: ${BODY.length}\r\n\r\n${BODY}`;

it('a request that arrives on a kept connection while the server closes is judged, and ends the connection', async () => {
  const answers: string[] = [];
  const ask = async () => {
    kept.write(REQUEST);
    answers.push(await readAnswer(kept));
  };
  const server = await startServer({ whileClosing: ask });
  const kept = await openTls(server.port);
  await ask();
  await server.app.close();

  expect(answers).toEqual([
    expect.stringMatching(/^HTTP\/1\.1 200 .*"allowed":false.*removing taint/s),
    expect.stringMatching(/^HTTP\/1\.1 200 .*"allowed":false.*removing taint/s),
  ]);
  expect(answers.map((text) => /^connection: (.*)\r$/im.exec(text)?.[1])).toEqual(['keep-alive', 'close']);
  await closed(kept);
});
