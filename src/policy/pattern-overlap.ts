/** True when some text matches both patterns, in which `*` stands for any run of characters. */
export function overlap(a: string, b: string): boolean {
  // reachable[j]: some text matches all of `a` that has been read, and the first j characters of `b`.
  let reachable = skipStars([true, ...Array<boolean>(b.length).fill(false)], b);
  for (const character of a) {
    const next = reachable.map((_, j) => {
      if (character === '*') return reachable.slice(0, j + 1).includes(true);
      if (j === 0) return false;
      // A star of `b` takes the character and stays, or it is the character itself.
      return b[j - 1] === '*' ? reachable[j] === true : b[j - 1] === character && reachable[j - 1] === true;
    });
    reachable = skipStars(next, b);
  }
  return reachable.at(-1) === true;
}

/** A star of `b` may stand for nothing. */
function skipStars(reachable: readonly boolean[], b: string): boolean[] {
  const result = [...reachable];
  for (let j = 1; j < result.length; j++) if (b[j - 1] === '*' && result[j - 1]) result[j] = true;
  return result;
}
