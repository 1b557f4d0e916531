import { expect, it } from 'vitest';
import { type ReadEvent, readEvents } from '../../../src/dashboard/merged-events.ts';

async function eventsOf(...chunks: (string | Buffer)[]) {
  async function* stream() {
    for (const chunk of chunks) yield Buffer.from(chunk);
  }
  const events: ReadEvent[] = [];
  for await (const event of readEvents(stream())) events.push(event);
  return events;
}

it.each([
  { why: 'all fields', chunks: ['event: a\nid: 1\ndata: x\n\n'], events: [{ type: 'a', id: '1', data: 'x' }] },
  { why: 'several', chunks: ['data: 1\n\ndata: 2\n\n'], events: [{ data: '1' }, { data: '2' }] },
  { why: 'cut anywhere', chunks: ['da', 'ta: 1', '\n', '\ndata: 2\n\n'], events: [{ data: '1' }, { data: '2' }] },
  { why: 'nothing but a comment and a retry', chunks: [': \n\nretry: 1000\n\ndata: 1\n\n'], events: [{ data: '1' }] },
  { why: 'colons and spaces', chunks: ['data:  a: b \n\n'], events: [{ data: ' a: b ' }] },
  { why: 'several lines', chunks: ['data: a\ndata: b\n\n'], events: [{ data: 'a\nb' }] },
  { why: 'a line separator of Unicode', chunks: ['data: a\u2028b\n\n'], events: [{ data: 'a\u2028b' }] },
  { why: 'an end in the middle', chunks: ['data: 1\n\ndata: 2\n'], events: [{ data: '1' }] },
])('reads $why', async ({ chunks, events }) => {
  expect(await eventsOf(...chunks)).toMatchObject(events);
});

it('reads a character that two chunks share', async () => {
  const bytes = Buffer.from('data: ü\n\n');
  expect(await eventsOf(bytes.subarray(0, 7), bytes.subarray(7))).toMatchObject([{ data: 'ü' }]);
});

it('gives up what never ends', async () => {
  await expect(eventsOf('x'.repeat(1_048_577))).rejects.toThrow('this is no stream of events');
});
