/**
 * The end of a name that must differ for different content: FNV-1a of 32 bits, over the UTF-16 units of the content as JSON, as eight hexadecimal
 * digits.
 */
export function nameHash(content: unknown): string {
  const text = JSON.stringify(content);
  let found = 0x811c9dc5;
  for (let index = 0; index < text.length; index += 1) found = Math.imul(found ^ text.charCodeAt(index), 0x01000193);
  return (found >>> 0).toString(16).padStart(8, '0');
}
