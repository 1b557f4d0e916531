import type { Socket } from 'node:net';

/** Two sockets, of which each is sent what the other receives. Both must have been made with `allowHalfOpen`. */
export interface Relay {
  /** Forwards nothing more, not even an end, and closes nothing: both peers believe in a connection that is dead. */
  freeze(): void;
  /** Forwards again, first of all what has come in meanwhile. */
  thaw(): void;
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
    reset: () => {
      for (const socket of [one, other]) socket.resetAndDestroy();
    },
  };
}

interface Direction {
  freeze(): void;
  thaw(): void;
}

type Fate = 'open' | 'ended' | 'closed' | 'reset';

function join(from: Socket, to: Socket): Direction {
  let frozen = false;
  let fate: Fate = 'open';

  /** Passes on how `from` has ended, unless that has to wait. */
  function settle(next: Fate): void {
    fate = next;
    if (frozen) return;
    if (fate === 'ended') to.end();
    else if (fate === 'closed') to.destroySoon();
    else if (fate === 'reset') to.resetAndDestroy();
  }

  from.on('data', (chunk) => {
    if (!to.write(chunk)) from.pause();
  });
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
      settle(fate);
    },
  };
}
