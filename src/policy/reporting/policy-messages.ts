import { atMost } from '../../text/counts.ts';
import { shorten } from '../../text/printable.ts';
import { formatPath, formatProblem, type Path, type Problem } from '../problem.ts';

/** The effect of --audit, for `doctor`, `explain` and `export`. The admission policy `taintkeeper-node-metadata` stays in force. */
export const AUDIT_NOTE = 'taintkeeper runs with --audit: policies only report';

/** The most items in one message. */
const MAX_PROBLEMS = 16;

/** The maximum length of all items of one message together. */
const MAX_ITEMS_LENGTH = 16_000;

/** The texts of a message, each cut to an equal share of the length. */
export function itemsOf(texts: readonly string[]): string[] {
  const items = atMost(MAX_PROBLEMS, texts);
  return items.map((text) => shorten(text, Math.floor(MAX_ITEMS_LENGTH / items.length)));
}

/** Why a generation of a policy cannot be used. */
export function unusableText(generation: number, problems: readonly Problem[]): string {
  return `generation ${generation} cannot be used: ${itemsOf(problems.map(formatProblem)).join('; ')}`;
}

/** The ignored fields and the effect, in words. */
export function ignoredText(ignored: readonly Path[]): string {
  const those = ignored.length === 1 ? 'this field; it is' : 'these fields; they are';
  return (
    `${itemsOf(ignored.map(formatPath)).join(', ')}: this version of taintkeeper does not know ${those} ignored, ` +
    'so the policy may do more or less than intended'
  );
}
