/** The items in the order of a round: each is the first one as often as the others. Of two equal bundles, the first one of each round took up to 5 % more. */
export function inTurn<Item>(round: number, items: Iterable<Item>): Item[] {
  const all = [...items];
  const first = round % all.length;
  return [...all.slice(first), ...all.slice(0, first)];
}

/** Until V8 has compiled what runs often, also on a machine that is busy besides: a webhook runs for weeks. */
const WARM_UP_REQUESTS = 20_000;
const WARM_UP_SECONDS = 3;

/**
 * Sends bursts to a server until it is warm.
 * @param part the part of the requests that this kind of request stands for, from 0 to 1
 */
export async function warmUp(
  burst: (seconds: number) => Promise<{ readonly requests: number }>,
  part = 1,
): Promise<void> {
  for (let sent = 0; sent < WARM_UP_REQUESTS * part; ) sent += (await burst(WARM_UP_SECONDS * part)).requests;
}
