/** @throws Error unless a generated page explains exactly what exists. @param script the one that generates it, such as `scripts/webhooks-page.ts` */
export function checkExplained(script: string, explained: readonly string[], existing: readonly string[]): void {
  const missing = existing.filter((name) => !explained.includes(name));
  const gone = explained.filter((name) => !existing.includes(name));
  if (missing.length > 0) throw new Error(`${script} does not explain: ${missing.join(', ')}`);
  if (gone.length > 0) throw new Error(`${script} explains what does not exist: ${gone.join(', ')}`);
}
