/** For example `TaintPolicy p added taint gpu:NoSchedule`. */
export function addedWarning(policy: string, what: string): string {
  return `${policy} added ${what}`;
}

/** Only --audit keeps the policy from adding it. */
export function wouldAddWarning(policy: string, what: string): string {
  return `${policy} would add ${what} (--audit)`;
}
