import { join } from 'node:path';
import { afterEach, beforeEach, describe, expect, it, vi } from 'vitest';
import type { PageState } from '../../../../src/page/state.ts';

/** Only its own type check knows the types of a browser. */
const { follow } = await import(join(import.meta.dirname, '../../../../src/page/static/live.js'));

/** The build that answers, and the streams that the page has opened. */
let answering: string;
let streams: EventTarget[];
const reload = vi.fn();
const reportError = vi.fn();

beforeEach(() => {
  vi.useFakeTimers();
  answering = '1.0.0';
  streams = [];
  reload.mockReset();
  reportError.mockReset();
  class Stream extends EventTarget {
    constructor() {
      super();
      streams.push(this);
    }
    close() {}
  }
  vi.stubGlobal('EventSource', Stream);
  vi.stubGlobal('document', new EventTarget());
  vi.stubGlobal('location', { reload });
  vi.stubGlobal('reportError', reportError);
  vi.stubGlobal('fetch', async () => Response.json({ build: answering }));
});

afterEach(() => {
  vi.useRealTimers();
  vi.unstubAllGlobals();
});

/** Follows as the page of build 1.0.0 does. */
async function followed(onState: (state: PageState) => void = () => {}) {
  const connections: string[] = [];
  const onConnection = ({ kind }: { readonly kind: string }) => connections.push(kind);
  follow({ build: '1.0.0', onState, onDecisions: () => {}, onConnection });
  streams[0]?.dispatchEvent(new Event('open'));
  await vi.advanceTimersByTimeAsync(0);
  return connections;
}

/** Until the next regular request, with its answer by this build. */
async function answer(build: string) {
  answering = build;
  await vi.advanceTimersByTimeAsync(15_000);
}

describe('an open page', () => {
  it('says that it cannot show a state, and asks again', async () => {
    const fault = new Error('cannot show it');
    let isFaulty = true;
    const seen = await followed(() => {
      if (isFaulty) throw fault;
    });
    await answer('1.0.0');
    expect(seen.at(-1)).toBe('unreadable');
    expect(reportError.mock.calls).toEqual([[fault], [fault]]);
    isFaulty = false;
    await answer('1.0.0');
    expect(seen.at(-1)).toBe('live');
  });

  it('has lost its connection if there is no answer', async () => {
    vi.stubGlobal('fetch', async () => new Response('', { status: 503 }));
    expect((await followed()).at(-1)).toBe('lost');
  });

  it('is reloaded after an upgrade', async () => {
    await followed();
    await answer('1.0.0');
    expect(reload).not.toHaveBeenCalled();
    await answer('1.1.0');
    await answer('1.1.0');
    expect(reload).not.toHaveBeenCalled();
    await answer('1.1.0');
    expect(reload).toHaveBeenCalledOnce();
  });

  it('is not reloaded while its own build answers as well', async () => {
    await followed();
    for (let time = 0; time < 20; time++) await answer(time % 2 === 0 ? '1.1.0' : '1.0.0');
    for (let time = 0; time < 20; time++) await answer(time % 3 === 0 ? '1.0.0' : '1.1.0');
    expect(reload).not.toHaveBeenCalled();
  });

  it('shows the states of the other build until it is reloaded', async () => {
    const shown: string[] = [];
    await followed(({ build }) => shown.push(build));
    for (const build of ['1.1.0', '1.1.0', '1.1.0']) await answer(build);
    expect(shown).toEqual(['1.0.0', '1.1.0', '1.1.0']);
  });

  it('asks again after an answer that is no state', async () => {
    vi.stubGlobal('fetch', async () => Response.json(null));
    const seen = await followed();
    expect(seen.at(-1)).toBe('unreadable');
    vi.stubGlobal('fetch', async () => Response.json({ build: '1.0.0' }));
    await answer('1.0.0');
    expect(seen.at(-1)).toBe('live');
  });
});
