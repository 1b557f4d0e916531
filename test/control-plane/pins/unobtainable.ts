/** The registry does not give what is needed, and nothing that would do instead. Another version may be complete. */
export class Unobtainable extends Error {
  override name = 'Unobtainable';
}
