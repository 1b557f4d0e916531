/** Calls the function once for each key, and keeps the result as long as the key exists. Keys are immutable. */
export function oncePer<Key extends object, Result>(make: (key: Key) => Result): (key: Key) => Result {
  const made = new WeakMap<Key, Result>();
  return (key) => {
    const known = made.get(key);
    if (known !== undefined || made.has(key)) return known as Result;
    const result = make(key);
    made.set(key, result);
    return result;
  };
}
