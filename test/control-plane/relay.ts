import type { Socket } from 'node:net';
import { resetSocket } from './reset-socket.ts';

/** Two sockets, of which each is sent what the other receives. Both must have been made with `allowHalfOpen`. */
export interface Relay {
  /** Forwards nothing more, not even an end, and closes nothing: both peers believe in a connection that is dead. */
  freeze(): void;
  /** Forwards again, first of all what has come in meanwhile. */
  thaw(): void;
  /** From now on what comes in is passed on so many milliseconds later, in either direction, the ends too; nothing gets slower. */
  delay(ms: number): void;
  /** Resets both connections. */
  reset(): void;
}

/**
 * Joins two sockets, which may be paused until now. An end is passed on as an end, a reset as a reset, and a slow reader slows the sender.
 *
 * @param onClosed is told once, when both sockets are closed
 */
export function relay(one: Socket, other: Socket, onClosed: () => void): Relay {
  const directions = [join(one, other), join(other, one)];
  let open = 2;
  for (const socket of [one, other]) {
    socket.once('close', () => {
      open--;
      if (open === 0) onClosed();
    });
    socket.resume();
  }
  return {
    freeze: () => {
      for (const direction of directions) direction.freeze();
    },
    thaw: () => {
      for (const direction of directions) direction.thaw();
    },
    delay: (ms) => {
      for (const direction of directions) direction.delay(ms);
    },
    reset: () => {
      for (const socket of [one, other]) resetSocket(socket);
    },
  };
}

interface Direction {
  freeze(): void;
  thaw(): void;
  delay(ms: number): void;
}

type Fate = 'open' | 'ended' | 'closed' | 'reset';

function join(from: Socket, to: Socket): Direction {
  let frozen = false;
  let fate: Fate = 'open';
  let delayMs = 0;
  /** What is under way, in order. */
  const waiting: { readonly due: number; readonly pass: () => void }[] = [];
  let timer: NodeJS.Timeout | undefined;

  /** Passes on how `from` has ended, unless that has to wait. */
  function settle(next: Fate): void {
    fate = next;
    if (frozen) return;
    later(end);
  }

  function end(): void {
    if (fate === 'ended') to.end();
    else if (fate === 'closed') to.destroySoon();
    else if (fate === 'reset') resetSocket(to);
  }

  function later(pass: () => void): void {
    waiting.push({ due: performance.now() + delayMs, pass });
    if (delayMs === 0 && timer === undefined) deliver();
    else arm();
  }

  function arm(): void {
    const [next] = waiting;
    if (next && !frozen && !timer) timer = setTimeout(deliver, Math.max(0, next.due - performance.now()));
  }

  function deliver(): void {
    timer = undefined;
    while (!frozen && waiting[0] && waiting[0].due <= performance.now()) waiting.shift()?.pass();
    arm();
  }

  from.on('data', (chunk) =>
    later(() => {
      if (!to.write(chunk)) from.pause();
    }),
  );
  to.on('drain', () => {
    if (!frozen) from.resume();
  });
  from.once('end', () => settle('ended'));
  // What an error means is seen when the socket closes.
  from.on('error', () => {});
  from.once('close', (hadError) => settle(hadError ? 'reset' : 'closed'));

  return {
    freeze: () => {
      frozen = true;
      from.pause();
    },
    thaw: () => {
      frozen = false;
      from.resume();
      arm();
      settle(fate);
    },
    delay: (ms) => {
      delayMs = ms;
    },
  };
}
